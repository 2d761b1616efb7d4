#include <weft/array/halo_exchange.hpp>

#include <weft/comm/message_batch.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/checks.hpp"
#include "array/halo_plan.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"
#include "array/vector_kernels.hpp"
#include "comm/peer_reader.hpp"
#include "core/option_checks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace weft {
namespace {

using detail::GhostRun;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

/// The exchange of one axis after the other. What a rank sends along an axis is a slab: some planes
/// across the axis, extended by the ghost cells of earlier axes, so that corners travel with it.
template <Scalar T>
class HaloExchange<T>::Plan {
 public:
  Plan(const Layout& layout, std::vector<HaloWidth> widths, HaloOptions options)
      : layout_(layout), widths_(std::move(widths)), options_(options) {
    detail::agree_on_plan("HaloExchange", {&layout}, dtype_of<T>,
                          detail::text_of(widths_, options));
    detail::check_halo(layout.shape(), widths_, options.boundary, "HaloExchange");
    local_ = layout.box().shape;
    for (int axis = 0; axis < layout_.ndim(); ++axis) passes_.push_back(make_pass(axis));
    for (Pass& pass : passes_) connect(pass);
  }

  void start(const ConstArrayView<T>& x) {
    detail::require_equal(x.layout(), layout_, "HaloExchange::start");
    require(!started_, "HaloExchange::start: started again before finish()");
    array_ = x.data();
    begun_ = 0;
    started_ = true;
    begin_passes();
  }

  void finish() {
    require(started_, "HaloExchange::finish: there is nothing to finish; call start() first");
    for (std::size_t index = 0; index < passes_.size(); ++index) {
      if (index == begun_) begin_passes();
      if (!ended_at_once(passes_[index])) end(passes_[index]);
    }
    array_ = nullptr;
    started_ = false;
  }

  void run_adjoint(const ArrayView<T>& x) {
    detail::require_equal(x.layout(), layout_, "HaloExchange::run_adjoint");
    require(!started_, "HaloExchange::run_adjoint: called between start() and finish()");
    for (auto pass = passes_.rbegin(); pass != passes_.rend(); ++pass) {
      pass->zeros_are_set = false;  // the caller has filled the ghost cells
      for (Message& message : pass->incoming) collect(*pass, message);
      pass->backward.start();
      for (const GhostRun& run : pass->own) return_own(*pass, run, x.data());
      pass->backward.finish();
      for (Message& message : pass->outgoing) add_slab(*pass, message, x.data());
    }
  }

  const Layout& layout() const { return layout_; }
  HaloWidth width(int axis) const { return widths_[checked(axis)]; }
  index_t message_count() const {
    index_t count = 0;
    for (const Pass& pass : passes_) count += static_cast<index_t>(pass.outgoing.size());
    return count;
  }

  /// For the caller to fill, or to look at.
  T* ghosts(int axis, Side side) {
    Pass& pass = passes_[checked(axis)];
    pass.zeros_are_set = false;
    return pass.ghosts[checked(side)].data();
  }
  const T* ghosts(int axis, Side side) const {
    return passes_[checked(axis)].ghosts[checked(side)].data();
  }
  const Shape& ghost_shape(int axis, Side side) const {
    return passes_[checked(axis)].ghost_shapes[checked(side)];
  }

  PaddedPart<T> padded(const ConstArrayView<T>& x);

 private:
  /// A region of the array or of an earlier axis' ghost cells that is part of a slab.
  struct Piece {
    Buffer<T>* ghosts = nullptr;  // null: the array
    Shape shape;                  // one plane
    Index strides;
    index_t offset = 0;  // of plane 0
    Index slab_at;       // where it lies in the slab
  };

  struct Message {
    int peer = 0;
    std::vector<GhostRun> runs;
    Buffer<T> buffer;
  };

  /// Takes the planes of a message straight out of the sender's array.
  class SlabReader final : public detail::PeerReader {
   public:
    SlabReader(Plan& plan, std::size_t pass, std::size_t message)
        : plan_(plan), pass_(pass), message_(message) {}
    void read(int, const void* memory) override {
      Pass& pass = plan_.passes_[pass_];
      plan_.take_slab(pass, pass.incoming[message_], static_cast<const T*>(memory));
    }

   private:
    Plan& plan_;
    std::size_t pass_;
    std::size_t message_;
  };

  struct Pass {
    int axis = 0;
    Index origin;      // of the array within a slab: the widths of the earlier axes
    Shape plane = {};  // a slab of one plane
    std::vector<Piece> pieces = {};
    std::vector<Buffer<T>> ghosts = {};  // before, after
    std::vector<Shape> ghost_shapes = {};
    std::vector<GhostRun> own = {};      // taken from this rank's own part
    std::vector<Message> outgoing = {};  // this rank's planes that others want
    std::vector<Message> incoming = {};
    std::vector<std::unique_ptr<SlabReader>> readers = {};  // of incoming, if it is read directly
    bool is_plain = false;  // slabs are parts of the array, without ghost cells of other axes
    bool is_read_directly = false;  // receivers read the sender's array
    bool has_zeros = false;
    bool zeros_are_set = false;
    MessageBatch forward;
    MessageBatch backward;
  };

  std::size_t checked(int axis) const {
    return at(normalize_axis(axis, layout_.ndim(), "HaloExchange"));
  }
  static std::size_t checked(Side side) {
    detail::require_enumerator(side, Side::after, "HaloExchange", "side");
    return at(static_cast<int>(side));
  }
  Pass make_pass(int axis);
  void connect(Pass& pass);
  index_t local_plane(const Pass& pass, const GhostRun& run) const {
    return run.source - layout_.box().offset[pass.axis];
  }
  Shape slab_shape(const Pass& pass, index_t planes) const {
    return pass.plane.with(pass.axis, planes);
  }
  index_t slab_count(const Pass& pass, const Message& message) const {
    index_t planes = 0;
    for (const GhostRun& run : message.runs) planes += run.length;
    return planes * pass.plane.count();
  }
  /// A message whose planes are one run of the array is sent from there.
  bool lies_in_one_run(const Pass& pass, const Message& message) const {
    return message.runs.size() == 1 && message.runs[0].step == 1 && pass.is_plain &&
           local_.count(0, pass.axis) == 1;
  }
  /// A message that fills one side exactly is received there.
  bool fills_a_side(const Pass& pass, const Message& message) const {
    return message.runs.size() == 1 &&
           message.runs[0].length ==
               pass.ghost_shapes[at(static_cast<int>(message.runs[0].side))][pass.axis];
  }
  T* landing(Pass& pass, Message& message) {
    return fills_a_side(pass, message)
               ? pass.ghosts[at(static_cast<int>(message.runs[0].side))].data()
               : message.buffer.data();
  }

  /// With corners, an axis needs the ghost cells of those before it: passes are begun up to the
  /// first that waits for others.
  void begin_passes() {
    while (begun_ < passes_.size()) {
      Pass& pass = passes_[begun_++];
      begin(pass);
      if (ended_at_once(pass)) {
        end(pass);
      } else if (options_.corners) {
        return;
      }
    }
  }
  bool ended_at_once(const Pass& pass) const {
    return pass.incoming.empty() && pass.outgoing.empty();
  }
  void begin(Pass& pass);
  void end(Pass& pass);
  void pack(Pass& pass);
  void take_slab(Pass& pass, const Message& message, const T* array);
  void collect(Pass& pass, Message& message);
  void return_own(Pass& pass, const GhostRun& run, T* array);
  void add_slab(Pass& pass, Message& message, T* array);

  /// Calls f(shape, pointer into the array or ghosts, strides, pointer into slab, slab strides) for
  /// the pieces of the planes of a run, given where plane 0 of the slab lies.
  template <class Element, class F>
  void for_each_piece(const Pass& pass, const GhostRun& run, Element* array, T* slab,
                      const Shape& shape_of_slab, F f) const;

  void copy_box(const Shape& shape, const T* from, const Index& from_strides, T* to,
                const Index& to_strides) const {
    dispatch(layout_.device(), [&](auto device) {
      kernels::copy_box(device, shape, kernel_cast(from), from_strides, kernel_cast(to),
                        to_strides);
    });
  }
  void add_box(const Shape& shape, const T* from, const Index& from_strides, T* to,
               const Index& to_strides) const {
    dispatch(layout_.device(), [&](auto device) {
      kernels::add_box(device, shape, kernel_cast(from), from_strides, kernel_cast(to), to_strides);
    });
  }
  T* ghost_planes(Pass& pass, const GhostRun& run) {
    const int side = static_cast<int>(run.side);
    return pass.ghosts[at(side)].data() +
           run.ghost * detail::strides_of(pass.ghost_shapes[at(side)])[pass.axis];
  }
  const Shape& side_shape(const Pass& pass, const GhostRun& run) const {
    return pass.ghost_shapes[at(static_cast<int>(run.side))];
  }

  Layout layout_;
  std::vector<HaloWidth> widths_;
  HaloOptions options_;
  Shape local_;
  std::vector<Pass> passes_;
  const T* array_ = nullptr;
  bool started_ = false;
  std::size_t begun_ = 0;  // passes
};

template <Scalar T>
typename HaloExchange<T>::Plan::Pass HaloExchange<T>::Plan::make_pass(int axis) {
  Pass pass{.axis = axis,
            .origin = Index::filled(layout_.ndim(), 0),
            .forward = MessageBatch(layout_.comm()),
            .backward = MessageBatch(layout_.comm())};
  Index plane = local_;
  for (int earlier = 0; options_.corners && earlier < axis; ++earlier) {
    pass.origin[earlier] = widths_[at(earlier)].before;
    plane[earlier] += widths_[at(earlier)].before + widths_[at(earlier)].after;
  }
  plane[axis] = 1;
  const bool empty = local_.count() == 0;
  pass.plane = empty ? Shape(Index::filled(layout_.ndim(), 0)) : Shape(plane);
  // Decided by what all ranks see alike: a rank that is read from must pass its array, not a slab.
  bool has_earlier_halo = false;
  for (int earlier = 0; options_.corners && earlier < axis; ++earlier) {
    has_earlier_halo =
        has_earlier_halo || widths_[at(earlier)].before + widths_[at(earlier)].after > 0;
  }
  pass.is_plain = !has_earlier_halo;
  pass.is_read_directly = pass.is_plain && detail::shares_memory(layout_.comm(), layout_.device());
  for (const index_t width : {widths_[at(axis)].before, widths_[at(axis)].after}) {
    pass.ghost_shapes.push_back(empty ? pass.plane : pass.plane.with(axis, width));
    pass.ghosts.emplace_back(pass.ghost_shapes.back().count(), layout_.device());
    dispatch(layout_.device(), [&](auto device) {
      kernels::fill(device, pass.ghosts.back().size(), KernelType<T>{},
                    kernel_cast(pass.ghosts.back().data()));
    });
  }
  pass.pieces.push_back(
      {nullptr, local_.with(axis, 1), detail::strides_of(local_), 0, pass.origin});
  for (int earlier = 0; options_.corners && earlier < axis; ++earlier) {
    const Pass& other = passes_[at(earlier)];
    for (const int side : {0, 1}) {
      Index slab_at = pass.origin;
      for (int axis2 = 0; axis2 < earlier; ++axis2) slab_at[axis2] = 0;
      slab_at[earlier] = side == 0 ? 0 : widths_[at(earlier)].before + local_[earlier];
      const Shape& shape = other.ghost_shapes[at(side)];
      pass.pieces.push_back({&passes_[at(earlier)].ghosts[at(side)], shape.with(axis, 1),
                             detail::strides_of(shape), 0, slab_at});
    }
  }
  return pass;
}

template <Scalar T>
void HaloExchange<T>::Plan::connect(Pass& pass) {
  if (local_.count() == 0) return;
  const Comm& comm = layout_.comm();
  const Index here = layout_.coordinates(comm.rank());
  const auto splits = layout_.splits(pass.axis);
  const auto add = [](std::vector<Message>& messages, int peer, const GhostRun& run) {
    auto message = std::find_if(messages.begin(), messages.end(),
                                [&](const Message& known) { return known.peer == peer; });
    if (message == messages.end()) message = messages.insert(messages.end(), Message{peer, {}, {}});
    message->runs.push_back(run);
  };
  for (index_t place = 0; place < layout_.grid()[pass.axis]; ++place) {
    Index cell = here;
    cell[pass.axis] = place;
    const bool mine = place == here[pass.axis];
    for (const GhostRun& run :
         detail::ghost_runs(splits, place, widths_[at(pass.axis)], options_.boundary)) {
      const bool from_here = run.owner == here[pass.axis];
      if (mine && run.owner < 0) pass.has_zeros = true;
      if (mine && from_here) pass.own.push_back(run);
      if (!mine && from_here) add(pass.outgoing, layout_.rank_at(cell), run);
      if (mine && !from_here && run.owner >= 0) {
        cell[pass.axis] = run.owner;
        add(pass.incoming, layout_.rank_at(cell), run);
        cell[pass.axis] = place;
      }
    }
  }
  const Device device = layout_.device();
  for (Message& message : pass.outgoing) {
    message.buffer = Buffer<T>(slab_count(pass, message), device);
    pass.forward.send(message.buffer, message.peer);
    pass.backward.recv(message.buffer, message.peer);
  }
  for (Message& message : pass.incoming) {
    const index_t count = slab_count(pass, message);
    if (!fills_a_side(pass, message)) message.buffer = Buffer<T>(count, device);
    const BufferRef room(landing(pass, message), count, device);
    if (pass.is_read_directly) {
      const auto number = static_cast<std::size_t>(&message - pass.incoming.data());
      pass.readers.push_back(
          std::make_unique<SlabReader>(*this, static_cast<std::size_t>(pass.axis), number));
      detail::add_read(pass.forward, room, message.peer, *pass.readers.back());
    } else {
      pass.forward.recv(room, message.peer);
    }
    pass.backward.send(ConstBufferRef(landing(pass, message), count, device), message.peer);
  }
}

template <Scalar T>
template <class Element, class F>
void HaloExchange<T>::Plan::for_each_piece(const Pass& pass, const GhostRun& run, Element* array,
                                           T* slab, const Shape& shape_of_slab, F f) const {
  const Index slab_strides = detail::strides_of(shape_of_slab);
  for (const Piece& piece : pass.pieces) {
    Element* base = piece.ghosts == nullptr ? array : piece.ghosts->data();
    const Shape shape = piece.shape.with(pass.axis, run.length);
    if (shape.count() == 0) continue;
    Index strides = piece.strides;
    Element* first = base + piece.offset + local_plane(pass, run) * strides[pass.axis];
    strides[pass.axis] *= run.step;
    f(shape, first, strides, slab + detail::offset_at(slab_strides, piece.slab_at), slab_strides);
  }
}

template <Scalar T>
void HaloExchange<T>::Plan::begin(Pass& pass) {
  pack(pass);
  if (pass.has_zeros && !pass.zeros_are_set) {
    for (Buffer<T>& ghosts : pass.ghosts) {
      dispatch(layout_.device(), [&](auto device) {
        kernels::fill(device, ghosts.size(), KernelType<T>{}, kernel_cast(ghosts.data()));
      });
    }
    pass.zeros_are_set = true;
  }
  pass.forward.start();
  for (const GhostRun& run : pass.own) {
    for_each_piece(pass, run, array_, ghost_planes(pass, run), side_shape(pass, run),
                   [&](const auto&... box) { copy_box(box...); });
  }
}

/// Brings together what is sent, where it is not sent from the array.
template <Scalar T>
void HaloExchange<T>::Plan::pack(Pass& pass) {
  for (std::size_t index = 0; index < pass.outgoing.size(); ++index) {
    Message& message = pass.outgoing[index];
    if (pass.is_read_directly) {
      pass.forward.redirect_send(index, array_);
      continue;
    }
    if (lies_in_one_run(pass, message)) {
      const index_t plane = local_plane(pass, message.runs[0]);
      pass.forward.redirect_send(index, array_ + plane * pass.plane.count());
      continue;
    }
    T* slab = message.buffer.data();
    for (const GhostRun& run : message.runs) {
      for_each_piece(pass, run, array_, slab, slab_shape(pass, run.length),
                     [&](const auto&... box) { copy_box(box...); });
      slab += run.length * pass.plane.count();
    }
  }
}

template <Scalar T>
void HaloExchange<T>::Plan::take_slab(Pass& pass, const Message& message, const T* array) {
  const Box& theirs = layout_.box(message.peer);
  for (const GhostRun& run : message.runs) {
    Index strides = detail::strides_of(theirs.shape);
    const T* first = array + (run.source - theirs.offset[pass.axis]) * strides[pass.axis];
    strides[pass.axis] *= run.step;
    copy_box(slab_shape(pass, run.length), first, strides, ghost_planes(pass, run),
             detail::strides_of(side_shape(pass, run)));
  }
}

template <Scalar T>
void HaloExchange<T>::Plan::end(Pass& pass) {
  pass.forward.finish();
  if (!pass.readers.empty()) return;  // they have put it in its place
  for (const Message& message : pass.incoming) {
    if (fills_a_side(pass, message)) continue;
    const T* slab = message.buffer.data();
    for (const GhostRun& run : message.runs) {
      const Shape shape = slab_shape(pass, run.length);
      copy_box(shape, slab, detail::strides_of(shape), ghost_planes(pass, run),
               detail::strides_of(side_shape(pass, run)));
      slab += shape.count();
    }
  }
}

/// Brings the ghost cells of a message together, to be sent back.
template <Scalar T>
void HaloExchange<T>::Plan::collect(Pass& pass, Message& message) {
  if (fills_a_side(pass, message)) return;
  T* slab = message.buffer.data();
  for (const GhostRun& run : message.runs) {
    const Shape shape = slab_shape(pass, run.length);
    copy_box(shape, ghost_planes(pass, run), detail::strides_of(side_shape(pass, run)), slab,
             detail::strides_of(shape));
    slab += shape.count();
  }
}

template <Scalar T>
void HaloExchange<T>::Plan::return_own(Pass& pass, const GhostRun& run, T* array) {
  // A repeated plane receives several: one after the other, or they would race for it.
  const index_t planes = run.step == 0 ? 1 : run.length;
  for (index_t done = 0; done < run.length; done += planes) {
    GhostRun some = run;
    some.ghost += done;
    some.length = planes;
    for_each_piece(
        pass, some, array, ghost_planes(pass, some), side_shape(pass, some),
        [&](const Shape& shape, T* to, const Index& to_strides, const T* from,
            const Index& from_strides) { add_box(shape, from, from_strides, to, to_strides); });
  }
}

template <Scalar T>
void HaloExchange<T>::Plan::add_slab(Pass& pass, Message& message, T* array) {
  T* slab = message.buffer.data();
  for (const GhostRun& run : message.runs) {
    const index_t planes = run.step == 0 ? 1 : run.length;
    const Shape shape_of_slab = slab_shape(pass, run.length);
    const index_t plane_stride = detail::strides_of(shape_of_slab)[pass.axis];
    for (index_t done = 0; done < run.length; done += planes) {
      GhostRun some = run;
      some.length = planes;
      for_each_piece(
          pass, some, array, slab + done * plane_stride, shape_of_slab,
          [&](const Shape& shape, T* to, const Index& to_strides, const T* from,
              const Index& from_strides) { add_box(shape, from, from_strides, to, to_strides); });
    }
    slab += shape_of_slab.count();
  }
}

template <Scalar T>
PaddedPart<T> HaloExchange<T>::Plan::padded(const ConstArrayView<T>& x) {
  detail::require_equal(x.layout(), layout_, "HaloExchange::padded");
  PaddedPart<T> part{layout_.box(), Buffer<T>()};
  if (local_.count() == 0) return part;
  Index extent = local_;
  Index origin = Index::filled(layout_.ndim(), 0);
  for (int axis = 0; axis < layout_.ndim(); ++axis) {
    origin[axis] = widths_[at(axis)].before;
    extent[axis] += widths_[at(axis)].before + widths_[at(axis)].after;
    part.box.offset[axis] -= widths_[at(axis)].before;
  }
  part.box.shape = Shape(extent);
  part.data = Buffer<T>(part.box.shape.count(), layout_.device());
  const Index strides = detail::strides_of(part.box.shape);
  dispatch(layout_.device(), [&](auto device) {
    kernels::fill(device, part.data.size(), KernelType<T>{}, kernel_cast(part.data.data()));
  });
  copy_box(local_, x.data(), detail::strides_of(local_),
           part.data.data() + detail::offset_at(strides, origin), strides);
  for (const Pass& pass : passes_) {
    for (const int side : {0, 1}) {
      const Shape& shape = pass.ghost_shapes[at(side)];
      if (shape.count() == 0) continue;
      Index corner = origin;
      for (int axis = 0; axis < pass.axis; ++axis) corner[axis] -= pass.origin[axis];
      corner[pass.axis] = side == 0 ? 0 : origin[pass.axis] + local_[pass.axis];
      copy_box(shape, pass.ghosts[at(side)].data(), detail::strides_of(shape),
               part.data.data() + detail::offset_at(strides, corner), strides);
    }
  }
  return part;
}

template <Scalar T>
HaloExchange<T>::HaloExchange(const Layout& layout, std::vector<HaloWidth> widths,
                              HaloOptions options)
    : plan_(std::make_unique<Plan>(layout, std::move(widths), options)) {}
template <Scalar T>
HaloExchange<T>::HaloExchange(HaloExchange&&) noexcept = default;
template <Scalar T>
HaloExchange<T>& HaloExchange<T>::operator=(HaloExchange&&) noexcept = default;
template <Scalar T>
HaloExchange<T>::~HaloExchange() = default;

template <Scalar T>
typename HaloExchange<T>::Plan& HaloExchange<T>::plan() const {
  require(plan_ != nullptr, "the HaloExchange has been moved from");
  return *plan_;
}
template <Scalar T>
const Layout& HaloExchange<T>::layout() const {
  return plan().layout();
}
template <Scalar T>
HaloWidth HaloExchange<T>::width(int axis) const {
  return plan().width(axis);
}
template <Scalar T>
index_t HaloExchange<T>::message_count() const {
  return plan().message_count();
}
template <Scalar T>
void HaloExchange<T>::start(const ConstArrayView<T>& x) {
  plan().start(x);
}
template <Scalar T>
void HaloExchange<T>::finish() {
  plan().finish();
}
template <Scalar T>
void HaloExchange<T>::run_adjoint(const ArrayView<T>& x) {
  plan().run_adjoint(x);
}
template <Scalar T>
T* HaloExchange<T>::ghosts(int axis, Side side) {
  return plan().ghosts(axis, side);
}
template <Scalar T>
const T* HaloExchange<T>::ghosts(int axis, Side side) const {
  return std::as_const(plan()).ghosts(axis, side);
}
template <Scalar T>
const Shape& HaloExchange<T>::ghost_shape(int axis, Side side) const {
  return plan().ghost_shape(axis, side);
}
template <Scalar T>
PaddedPart<T> HaloExchange<T>::padded(const ConstArrayView<T>& x) const {
  return plan().padded(x);
}

#define INSTANTIATE(T) template class HaloExchange<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
