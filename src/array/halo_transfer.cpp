#include "array/halo_transfer.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "array/vector_kernels.hpp"

namespace weft::detail {
namespace {

std::size_t at(Side side) { return static_cast<std::size_t>(side); }

}  // namespace

template <Scalar T>
HaloTransfer<T>::HaloTransfer(const HaloPlan& plan) : plan_(plan) {
  for (const HaloPass& each : plan_.passes) memory_.push_back(allocate(each));
  for (const HaloPass& each : plan_.passes) connect(each.axis);
}

template <Scalar T>
typename HaloTransfer<T>::PassMemory HaloTransfer<T>::allocate(const HaloPass& pass) const {
  const Comm& comm = plan_.layout.comm();
  const Device device = plan_.layout.device();
  PassMemory memory{.ghosts = {Buffer<T>(pass.ghost_shape(Side::before).count(), device),
                               Buffer<T>(pass.ghost_shape(Side::after).count(), device)},
                    .forward = MessageBatch(comm),
                    .backward = MessageBatch(comm)};
  for (Buffer<T>& ghosts : memory.ghosts) fill_zeros(ghosts);
  // Decided from what all ranks know: a rank that is read from must pass its array, not a slab.
  memory.is_read_directly = pass.is_plain && shares_memory(comm, device);
  for (const HaloMessage& message : pass.outgoing) {
    memory.outgoing.emplace_back(pass.element_count(message), device);
  }
  for (const HaloMessage& message : pass.incoming) {
    memory.incoming.emplace_back(pass.fills_a_side(message) ? 0 : pass.element_count(message),
                                 device);
  }
  return memory;
}

template <Scalar T>
void HaloTransfer<T>::connect(int axis) {
  const HaloPass& pass = this->pass(axis);
  PassMemory& memory = this->memory(axis);
  for (std::size_t i = 0; i < pass.outgoing.size(); ++i) {
    memory.forward.send(memory.outgoing[i], pass.outgoing[i].peer);
    memory.backward.recv(memory.outgoing[i], pass.outgoing[i].peer);
  }
  for (std::size_t i = 0; i < pass.incoming.size(); ++i) {
    const HaloMessage& message = pass.incoming[i];
    const BufferRef cells(receive_buffer(axis, message, memory.incoming[i]),
                          pass.element_count(message), plan_.layout.device());
    if (memory.is_read_directly) {
      memory.readers.push_back(std::make_unique<SlabReader>(*this, axis, message));
      add_read(memory.forward, cells, message.peer, *memory.readers.back());
    } else {
      memory.forward.recv(cells, message.peer);
    }
    memory.backward.send(cells, message.peer);
  }
}

template <Scalar T>
bool HaloTransfer<T>::lies_in_one_run(const HaloPass& pass, const HaloMessage& message) const {
  return message.runs.size() == 1 && message.runs[0].step == 1 && pass.is_plain &&
         plan_.local.count(0, pass.axis) == 1;
}

template <Scalar T>
T* HaloTransfer<T>::receive_buffer(int axis, const HaloMessage& message, Buffer<T>& buffer) {
  return pass(axis).fills_a_side(message) ? memory(axis).ghosts[at(message.runs[0].side)].data()
                                          : buffer.data();
}

template <Scalar T>
T* HaloTransfer<T>::ghost_planes(int axis, const GhostRun& run) {
  return memory(axis).ghosts[at(run.side)].data() +
         run.ghost * strides_of(pass(axis).ghost_shape(run.side))[axis];
}

template <Scalar T>
template <class Element, class F>
void HaloTransfer<T>::for_each_piece(int axis, const GhostRun& run, Element* array, T* slab,
                                     const Shape& slab_shape, F f) {
  const HaloPass& pass = this->pass(axis);
  const Index slab_strides = strides_of(slab_shape);
  for (const SlabPiece& piece : pass.pieces) {
    Element* base =
        piece.ghost_axis < 0 ? array : memory(piece.ghost_axis).ghosts[at(piece.ghost_side)].data();
    const Shape shape = piece.plane.with(axis, run.length);
    if (shape.count() == 0) continue;
    Index strides = piece.strides;
    Element* first = base + local_plane(pass, run) * strides[axis];
    strides[axis] *= run.step;
    f(shape, first, strides, slab + offset_at(slab_strides, piece.slab_at), slab_strides);
  }
}

template <Scalar T>
void HaloTransfer<T>::begin(int axis, const T* array) {
  const HaloPass& pass = this->pass(axis);
  PassMemory& memory = this->memory(axis);
  pack(axis, array);
  if (pass.has_zeros && !memory.zeros_are_set) {
    for (Buffer<T>& ghosts : memory.ghosts) fill_zeros(ghosts);
    memory.zeros_are_set = true;
  }
  memory.forward.start();
  for (const GhostRun& run : pass.own) {
    for_each_piece(axis, run, array, ghost_planes(axis, run), pass.ghost_shape(run.side),
                   [&](const auto&... box) { copy_box(box...); });
  }
}

template <Scalar T>
void HaloTransfer<T>::pack(int axis, const T* array) {
  const HaloPass& pass = this->pass(axis);
  PassMemory& memory = this->memory(axis);
  for (std::size_t i = 0; i < pass.outgoing.size(); ++i) {
    const HaloMessage& message = pass.outgoing[i];
    if (memory.is_read_directly) {
      memory.forward.redirect_send(i, array);
      continue;
    }
    if (lies_in_one_run(pass, message)) {
      const index_t plane = local_plane(pass, message.runs[0]);
      memory.forward.redirect_send(i, array + plane * pass.plane.count());
      continue;
    }
    T* slab = memory.outgoing[i].data();
    for (const GhostRun& run : message.runs) {
      for_each_piece(axis, run, array, slab, pass.slab_shape(run.length),
                     [&](const auto&... box) { copy_box(box...); });
      slab += run.length * pass.plane.count();
    }
  }
}

template <Scalar T>
void HaloTransfer<T>::take_slab(int axis, const HaloMessage& message, const T* array) {
  const HaloPass& pass = this->pass(axis);
  const Box& theirs = plan_.layout.box(message.peer);
  for (const GhostRun& run : message.runs) {
    Index strides = strides_of(theirs.shape);
    const T* first = array + (run.source - theirs.offset[axis]) * strides[axis];
    strides[axis] *= run.step;
    copy_box(pass.slab_shape(run.length), first, strides, ghost_planes(axis, run),
             strides_of(pass.ghost_shape(run.side)));
  }
}

template <Scalar T>
void HaloTransfer<T>::end(int axis) {
  const HaloPass& pass = this->pass(axis);
  PassMemory& memory = this->memory(axis);
  memory.forward.finish();
  if (memory.is_read_directly) return;  // the readers have filled the ghost cells
  for (std::size_t i = 0; i < pass.incoming.size(); ++i) {
    const HaloMessage& message = pass.incoming[i];
    if (pass.fills_a_side(message)) continue;
    const T* slab = memory.incoming[i].data();
    for (const GhostRun& run : message.runs) {
      const Shape shape = pass.slab_shape(run.length);
      copy_box(shape, slab, strides_of(shape), ghost_planes(axis, run),
               strides_of(pass.ghost_shape(run.side)));
      slab += shape.count();
    }
  }
}

template <Scalar T>
void HaloTransfer<T>::run_adjoint(int axis, T* array) {
  const HaloPass& pass = this->pass(axis);
  PassMemory& memory = this->memory(axis);
  memory.zeros_are_set = false;  // the caller has filled the ghost cells
  for (std::size_t i = 0; i < pass.incoming.size(); ++i) {
    collect(axis, pass.incoming[i], memory.incoming[i]);
  }
  memory.backward.start();
  for (const GhostRun& run : pass.own) return_own(axis, run, array);
  memory.backward.finish();
  for (std::size_t i = 0; i < pass.outgoing.size(); ++i) {
    add_slab(axis, pass.outgoing[i], memory.outgoing[i], array);
  }
}

template <Scalar T>
void HaloTransfer<T>::collect(int axis, const HaloMessage& message, Buffer<T>& buffer) {
  const HaloPass& pass = this->pass(axis);
  if (pass.fills_a_side(message)) return;
  T* slab = buffer.data();
  for (const GhostRun& run : message.runs) {
    const Shape shape = pass.slab_shape(run.length);
    copy_box(shape, ghost_planes(axis, run), strides_of(pass.ghost_shape(run.side)), slab,
             strides_of(shape));
    slab += shape.count();
  }
}

template <Scalar T>
void HaloTransfer<T>::return_own(int axis, const GhostRun& run, T* array) {
  // Several ghost planes may add to one repeated plane: one after the other, to avoid a data race.
  const index_t planes = run.step == 0 ? 1 : run.length;
  for (index_t done = 0; done < run.length; done += planes) {
    GhostRun some = run;
    some.ghost += done;
    some.length = planes;
    for_each_piece(
        axis, some, array, ghost_planes(axis, some), pass(axis).ghost_shape(some.side),
        [&](const Shape& shape, T* to, const Index& to_strides, const T* from,
            const Index& from_strides) { add_box(shape, from, from_strides, to, to_strides); });
  }
}

template <Scalar T>
void HaloTransfer<T>::add_slab(int axis, const HaloMessage& message, Buffer<T>& buffer, T* array) {
  T* slab = buffer.data();
  for (const GhostRun& run : message.runs) {
    const index_t planes = run.step == 0 ? 1 : run.length;
    const Shape slab_shape = pass(axis).slab_shape(run.length);
    const index_t plane_stride = strides_of(slab_shape)[axis];
    for (index_t done = 0; done < run.length; done += planes) {
      GhostRun some = run;
      some.length = planes;
      for_each_piece(
          axis, some, array, slab + done * plane_stride, slab_shape,
          [&](const Shape& shape, T* to, const Index& to_strides, const T* from,
              const Index& from_strides) { add_box(shape, from, from_strides, to, to_strides); });
    }
    slab += slab_shape.count();
  }
}

template <Scalar T>
const T* HaloTransfer<T>::ghosts(int axis, Side side) const {
  return memory_[static_cast<std::size_t>(axis)].ghosts[at(side)].data();
}

template <Scalar T>
T* HaloTransfer<T>::writable_ghosts(int axis, Side side) {
  memory(axis).zeros_are_set = false;
  return memory(axis).ghosts[at(side)].data();
}

template <Scalar T>
void HaloTransfer<T>::fill_zeros(Buffer<T>& buffer) const {
  dispatch(plan_.layout.device(), [&](auto device) {
    kernels::fill(device, buffer.size(), KernelType<T>{}, kernel_cast(buffer.data()));
  });
}

template <Scalar T>
void HaloTransfer<T>::copy_box(const Shape& shape, const T* from, const Index& from_strides, T* to,
                               const Index& to_strides) const {
  dispatch(plan_.layout.device(), [&](auto device) {
    kernels::copy_box(device, shape, kernel_cast(from), from_strides, kernel_cast(to), to_strides);
  });
}

template <Scalar T>
void HaloTransfer<T>::add_box(const Shape& shape, const T* from, const Index& from_strides, T* to,
                              const Index& to_strides) const {
  dispatch(plan_.layout.device(), [&](auto device) {
    kernels::add_box(device, shape, kernel_cast(from), from_strides, kernel_cast(to), to_strides);
  });
}

#define INSTANTIATE(T) template class HaloTransfer<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
