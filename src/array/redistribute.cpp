#include <weft/array/redistribute.hpp>

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/checks.hpp"
#include "array/plan_agreement.hpp"
#include "array/strides.hpp"
#include "comm/peer_reader.hpp"

#include <algorithm>

namespace weft {
namespace {

/// The ranks of this rank's group, in the order of group_comm().
std::vector<int> group_members(const Layout& source) {
  std::vector<int> ranks;
  for (int rank = 0; rank < source.comm().size(); ++rank) {
    if (source.group(rank) == source.group(source.comm().rank())) ranks.push_back(rank);
  }
  return ranks;
}

/// The part of rank `to`'s box that it gets from rank `from` of its group. A replica is complete.
Box transfer(const Layout& source, int from, const Layout& target, int to) {
  if (source.is_replicated() && from != to) {
    return {source.box(from).offset, Shape(Index::filled(source.ndim(), 0))};
  }
  return intersect(source.box(from), target.box(to));
}

/// The elements of `part` are contiguous in the memory of `box`.
bool is_one_run(const Box& part, const Box& box) {
  bool inside = false;  // an axis further out has more than one element
  for (int axis = 0; axis < part.shape.ndim(); ++axis) {
    if (inside && part.shape[axis] != box.shape[axis]) return false;
    inside = inside || part.shape[axis] > 1;
  }
  return true;
}

/// Whether any rank of a group needs elements of another; the same on all of its ranks.
bool moves_between_ranks(const Layout& source, const std::vector<int>& group,
                         const Layout& target) {
  if (source.is_replicated() || group.size() == 1) return false;
  return std::any_of(group.begin(), group.end(), [&](int rank) {
    const Box& box = target.box(rank);
    return intersect(source.box(rank), box).shape.count() != box.shape.count();
  });
}

}  // namespace

/// The regions that one rank sends to and receives from the others of its group, and their places
/// in the message buffer. If every region is contiguous in the array, the array is the buffer.
template <Scalar T>
class Redistribution<T>::Plan final : public detail::PeerReader {
 public:
  Plan(const Layout& from, const Layout& to)
      : from_(from),
        to_(to),
        comm_(from.group_comm()),
        group_(group_members(from)),
        messages_(moves_between_ranks(from, group_, to)),
        direct_(detail::shares_memory(comm_, from.device())) {
    const int rank = from.comm().rank();
    for (const int peer : group_) {
      outgoing_.add(transfer(from, rank, to, peer), from.box(), peer == rank);
      incoming_.add(transfer(from, peer, to, rank), to.box(), peer == rank);
    }
    outgoing_.finish();
    incoming_.finish();
    if (!messages_ || direct_) return;
    if (!outgoing_.in_place) packed_ = Buffer<T>(outgoing_.parts.extent(), from.device());
    if (!incoming_.in_place) received_ = Buffer<T>(incoming_.parts.extent(), to.device());
  }

  void run(const ConstArrayView<T>& x, const ArrayView<T>& y) {
    target_ = y.data();
    if (!messages_) {
      read(comm_.rank(), x.data());
      return;
    }
    if (direct_) {
      detail::read_peers(comm_, ConstBufferRef(x.data(), x.local_count(), from_.device()),
                         outgoing_.parts, incoming_.parts, *this);
      return;
    }
    read(comm_.rank(), x.data());
    for (int peer = 0; peer < comm_.size() && !outgoing_.in_place; ++peer) pack(peer, x.data());
    const ConstBufferRef in = outgoing_.in_place
                                  ? ConstBufferRef(x.data(), x.local_count(), from_.device())
                                  : ConstBufferRef(packed_);
    const BufferRef out = incoming_.in_place ? BufferRef(y.data(), y.local_count(), to_.device())
                                             : BufferRef(received_);
    comm_.all_to_all_v(in, outgoing_.parts, out, incoming_.parts);
    for (int peer = 0; peer < comm_.size() && !incoming_.in_place; ++peer) unpack(peer, y.data());
  }

  bool needs_messages() const { return messages_; }

  /// Copies this rank's region of a peer's array to the target. Peers are numbered in the group.
  void read(int peer, const void* memory) override {
    const Box& region = incoming_.regions[static_cast<std::size_t>(peer)];
    if (region.shape.count() == 0) return;
    const Box& source = from_.box(group_[static_cast<std::size_t>(peer)]);
    const T* from = static_cast<const T*>(memory) + detail::offset_in(source, region.offset);
    T* to = target_ + detail::offset_in(to_.box(), region.offset);
    copy_region(region.shape, from, source.shape, to, to_.box().shape);
  }

 private:
  struct Regions {
    std::vector<Box> regions;
    std::vector<index_t> counts;
    std::vector<index_t> offsets;
    Parts parts;
    bool in_place = true;

    void add(const Box& region, const Box& array, bool own) {
      regions.push_back(region);
      // A rank's own region is copied directly and takes no part in messages.
      counts.push_back(own ? 0 : region.shape.count());
      offsets.push_back(counts.back() > 0 ? detail::offset_in(array, region.offset) : 0);
      if (counts.back() > 0) in_place = in_place && is_one_run(region, array);
    }
    void finish() { parts = in_place ? Parts(counts, offsets) : Parts(counts); }
  };

  void copy_region(const Shape& shape, const T* from, const Shape& from_shape, T* to,
                   const Shape& to_shape) {
    dispatch(to_.device(), [&](auto device) {
      kernels::copy_box(device, shape, kernel_cast(from), detail::strides_of(from_shape),
                        kernel_cast(to), detail::strides_of(to_shape));
    });
  }
  void pack(int peer, const T* x) {
    const Box& region = outgoing_.regions[static_cast<std::size_t>(peer)];
    if (outgoing_.parts.count(peer) == 0) return;
    copy_region(region.shape, x + detail::offset_in(from_.box(), region.offset), from_.box().shape,
                packed_.data() + outgoing_.parts.offset(peer), region.shape);
  }
  void unpack(int peer, T* y) {
    const Box& region = incoming_.regions[static_cast<std::size_t>(peer)];
    if (incoming_.parts.count(peer) == 0) return;
    copy_region(region.shape, received_.data() + incoming_.parts.offset(peer), region.shape,
                y + detail::offset_in(to_.box(), region.offset), to_.box().shape);
  }

  Layout from_;
  Layout to_;
  Comm comm_;               // of the group
  std::vector<int> group_;  // the same, as ranks of the layout's communicator
  bool messages_;
  bool direct_;  // ranks read each other's arrays
  Regions outgoing_;
  Regions incoming_;
  Buffer<T> packed_;
  Buffer<T> received_;
  T* target_ = nullptr;
};

template <Scalar T>
Redistribution<T>::Redistribution(const Layout& from, const Layout& to) : from_(from), to_(to) {
  require(from.comm() == to.comm(), "Redistribution: the layouts are on different communicators");
  detail::agree_on_plan("Redistribution", {&from, &to}, dtype_of<T>);
  require(from.device() == to.device(),
          "Redistribution: from {} to {}; both layouts must be on one device",
          to_string(from.device()), to_string(to.device()));
  require(from.is_stack() == to.is_stack() && from.part_count() == to.part_count(),
          "Redistribution: a stack can only be redistributed to a stack with as many parts");
  if (from.is_stack()) {
    for (int index = 0; index < from.part_count(); ++index) {
      parts_.emplace_back(from.part(index), to.part(index));
    }
    return;
  }
  require(from.shape() == to.shape(), "Redistribution: from shape {} to shape {}",
          to_string(from.shape()), to_string(to.shape()));
  plan_ = std::make_unique<Plan>(from, to);
}

template <Scalar T>
Redistribution<T>::Redistribution(Redistribution&&) noexcept = default;
template <Scalar T>
Redistribution<T>& Redistribution<T>::operator=(Redistribution&&) noexcept = default;
template <Scalar T>
Redistribution<T>::~Redistribution() = default;

template <Scalar T>
bool Redistribution<T>::needs_messages() const {
  require(from_.valid(), "the Redistribution has been moved from");
  return plan_ != nullptr ? plan_->needs_messages()
                          : std::any_of(parts_.begin(), parts_.end(),
                                        [](const auto& part) { return part.needs_messages(); });
}

template <Scalar T>
void Redistribution<T>::run(const ConstArrayView<T>& x, const ArrayView<T>& y) {
  require(from_.valid(), "the Redistribution has been moved from");
  detail::require_equal(x.layout(), from_, "Redistribution::run");
  detail::require_equal(y.layout(), to_, "Redistribution::run");
  if (plan_ != nullptr) plan_->run(x, y);
  for (std::size_t index = 0; index < parts_.size(); ++index) {
    parts_[index].run(x.part(static_cast<int>(index)), y.part(static_cast<int>(index)));
  }
}

#define INSTANTIATE(T) template class Redistribution<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
