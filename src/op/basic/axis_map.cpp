#include "op/basic/axis_map.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/box_kernels.hpp"
#include "comm/peer_reader.hpp"
#include "op/axis_extents.hpp"
#include "op/peers.hpp"
#include "op/scaling.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

/// Positions [begin, end) along the axis.
struct Interval {
  index_t begin;
  index_t end;
  index_t extent() const { return end - begin; }
};

/// The part of each run that goes from one interval to another, relative to their beginnings.
std::vector<DirectedRun> runs_between(const std::vector<DirectedRun>& runs, Interval from,
                                      Interval to) {
  std::vector<DirectedRun> parts;
  for (const DirectedRun& run : runs) {
    index_t first = to.begin - run.to;
    index_t last = to.end - run.to;
    if (run.step > 0) {
      first = std::max(first, from.begin - run.from);
      last = std::min(last, from.end - run.from);
    } else {
      first = std::max(first, run.from - from.end + 1);
      last = std::min(last, run.from - from.begin + 1);
    }
    first = std::max<index_t>(first, 0);
    last = std::min(last, run.extent);
    if (first >= last) continue;
    parts.push_back({run.from + first * run.step - from.begin, run.to + first - to.begin,
                     last - first, run.step});
  }
  return parts;
}

index_t elements_of(const std::vector<DirectedRun>& runs) {
  index_t sum = 0;
  for (const DirectedRun& run : runs) sum += run.extent;
  return sum;
}

/// The runs that map y back to x, the last one first.
std::vector<DirectedRun> reversed_runs(const std::vector<DirectedRun>& runs) {
  std::vector<DirectedRun> all;
  for (std::size_t i = runs.size(); i > 0; --i) {
    const DirectedRun& run = runs[i - 1];
    if (run.step > 0) {
      all.push_back({run.to, run.from, run.extent, 1});
    } else {
      const index_t last = run.extent - 1;
      all.push_back({run.to + last, run.from - last, run.extent, -1});
    }
  }
  return all;
}

/// Forward or adjoint: what this rank copies from its own part and from those of others.
template <Scalar T>
class MapPass final : public PeerReader {
 public:
  MapPass(const Layout& from, const Layout& to, int axis, const std::vector<DirectedRun>& runs)
      : from_(from.box().shape, axis),
        to_(to.box().shape, axis),
        device_(to.device()),
        adds_(elements_of(runs) > to.shape()[axis]),
        comm_(from.line_comm(axis)) {
    const auto part_of = [axis](const Layout& layout) {
      const index_t begin = layout.box().offset[axis];
      return Interval{begin, begin + layout.box().shape[axis]};
    };
    if (!has_peers(comm_)) {
      incoming_.push_back(runs_between(runs, part_of(from), part_of(to)));
      return;
    }
    rank_ = comm_.rank();
    direct_ = shares_memory(comm_, from.device());
    plan_messages(from, to, axis, runs);
    if (direct_ || !messages_) return;
    packed_ = Buffer<T>(sent_.extent(), from.device());
    received_memory_ = Buffer<T>(received_.extent(), from.device());
  }

  bool needs_messages() const { return messages_; }

  void run(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) {
    target_ = y.data();
    update_ = update;
    if (adds_ && messages_) {  // parts of other ranks arrive in any order
      scale_or_clear(update.beta, y);
      update_.beta = T{1};
    }
    if (!messages_) return read(rank_, x.data());
    const ConstBufferRef mine(x.data(), x.local_count(), x.device());
    if (direct_) return read_peers(comm_, mine, sent_, received_, *this);
    read(rank_, x.data());
    for (int peer = 0; peer < comm_.size(); ++peer) pack(peer, x.data());
    comm_.all_to_all_v(ConstBufferRef(packed_), sent_, BufferRef(received_memory_), received_);
    for (int peer = 0; peer < comm_.size(); ++peer) unpack(peer);
  }

  /// Copies from the part of a rank.
  void read(int peer, const void* memory) override {
    const auto& runs = incoming_[static_cast<std::size_t>(peer)];
    const index_t extent = sources_.empty() ? from_.n : sources_[static_cast<std::size_t>(peer)];
    const T* source = static_cast<const T*>(memory);
    if (update_.is_plain() && !adds_) {
      dispatch(device_, [&](auto device) {
        kernels::copy_runs(device, runs.data(), std::ssize(runs), from_.outer, from_.inner,
                           kernel_cast(source), extent, kernel_cast(target_), to_.n);
      });
      return;
    }
    Update<T> update = update_;
    for (const DirectedRun& run : runs) {
      put(run, source, extent, update);
      if (adds_) update.beta = T{1};
    }
  }

 private:
  void plan_messages(const Layout& from, const Layout& to, int axis,
                     const std::vector<DirectedRun>& runs) {
    const auto from_splits = from.splits(axis);
    const auto to_splits = to.splits(axis);
    const auto cell = [](std::span<const index_t> splits, int rank) {
      const auto at = static_cast<std::size_t>(rank);
      return Interval{splits[at], splits[at + 1]};
    };
    const index_t line = from_.outer * from_.inner;
    // An element that goes to a rank twice counts once if the rank reads it from this array.
    const auto count = [&](const std::vector<DirectedRun>& parts, Interval source) {
      const index_t elements = elements_of(parts);
      return line * (direct_ ? std::min(elements, source.extent()) : elements);
    };
    std::vector<index_t> sent;
    std::vector<index_t> received;
    for (int a = 0; a < comm_.size(); ++a) {
      const Interval source = cell(from_splits, a);
      sources_.push_back(source.extent());
      incoming_.push_back(runs_between(runs, source, cell(to_splits, rank_)));
      outgoing_.push_back(runs_between(runs, cell(from_splits, rank_), cell(to_splits, a)));
      const bool own = a == rank_;
      received.push_back(own ? 0 : count(incoming_.back(), source));
      sent.push_back(own ? 0 : count(outgoing_.back(), cell(from_splits, rank_)));
      for (int b = 0; b < comm_.size() && !messages_; ++b) {
        messages_ = b != a && !runs_between(runs, source, cell(to_splits, b)).empty();
      }
    }
    const std::vector<index_t> beginning(sent.size(), 0);
    sent_ = direct_ ? Parts(sent, beginning) : Parts(sent);
    received_ = direct_ ? Parts(received, beginning) : Parts(received);
  }

  /// target[run] = alpha source[run] + beta target[run]
  void put(const DirectedRun& run, const T* source, index_t source_extent, Update<T> update) const {
    dispatch(device_, [&](auto device) {
      kernels::axpby_box(device, Shape{from_.outer, run.extent, from_.inner},
                         kernel_value(update.alpha), kernel_cast(source + run.from * from_.inner),
                         Index{source_extent * from_.inner, run.step * from_.inner, 1},
                         kernel_value(update.beta), kernel_cast(target_ + run.to * to_.inner),
                         Index{to_.n * to_.inner, to_.inner, 1});
    });
  }

  /// A message has the runs one after the other, in the order of the target.
  void pack(int peer, const T* x) {
    if (sent_.count(peer) == 0) return;
    T* message = packed_.data() + sent_.offset(peer);
    for (const DirectedRun& run : outgoing_[static_cast<std::size_t>(peer)]) {
      dispatch(device_, [&](auto device) {
        kernels::copy_box(device, Shape{from_.outer, run.extent, from_.inner},
                          kernel_cast(x + run.from * from_.inner),
                          Index{from_.n * from_.inner, run.step * from_.inner, 1},
                          kernel_cast(message), Index{run.extent * from_.inner, from_.inner, 1});
      });
      message += from_.outer * run.extent * from_.inner;
    }
  }
  void unpack(int peer) {
    if (received_.count(peer) == 0) return;
    const T* message = received_memory_.data() + received_.offset(peer);
    for (const DirectedRun& run : incoming_[static_cast<std::size_t>(peer)]) {
      put({0, run.to, run.extent, 1}, message, run.extent, update_);
      message += from_.outer * run.extent * from_.inner;
    }
  }

  AxisExtents from_;
  AxisExtents to_;
  Device device_;
  bool adds_;
  Comm comm_;  // of the ranks along the axis
  int rank_ = 0;
  bool direct_ = false;  // ranks read each other's arrays
  bool messages_ = false;
  std::vector<std::vector<DirectedRun>> incoming_;  // from each rank along the axis
  std::vector<std::vector<DirectedRun>> outgoing_;
  std::vector<index_t> sources_;  // extents of their parts
  Parts sent_;
  Parts received_;
  Buffer<T> packed_;
  Buffer<T> received_memory_;
  // Of the current run:
  T* target_ = nullptr;
  Update<T> update_;
};

template <Scalar T>
class AxisMap final : public OperatorNode<T> {
 public:
  AxisMap(std::string name, const Layout& domain, const Layout& range, int axis,
          const std::vector<DirectedRun>& runs, bool is_permutation)
      : OperatorNode<T>(std::move(name), domain, range),
        forward_(domain, range, axis, runs),
        adjoint_(range, domain, axis, reversed_runs(runs)),
        is_permutation_(is_permutation) {}

  void forward(const ConstArrayView<T>& x, const ArrayView<T>& y, Update<T> update) const override {
    forward_.run(x, y, update);
  }
  void adjoint(const ConstArrayView<T>& y, const ArrayView<T>& x, Update<T> update) const override {
    adjoint_.run(y, x, update);
  }
  Cost cost() const override {
    const auto elements = this->domain().local_count() + this->range().local_count();
    return {.bytes = sizeof(T) * static_cast<double>(elements),
            .messages = forward_.needs_messages() ? 1.0 : 0.0};
  }
  std::optional<LinearOperator<T>> normal() const override {
    if (!is_permutation_) return std::nullopt;
    return identity<T>(this->domain());
  }

 private:
  mutable MapPass<T> forward_;
  mutable MapPass<T> adjoint_;
  bool is_permutation_;
};

}  // namespace

template <Scalar T>
LinearOperator<T> axis_map(std::string name, const Layout& domain, const Layout& range, int axis,
                           const std::vector<DirectedRun>& runs, bool is_permutation) {
  return make_operator<AxisMap<T>>(std::move(name), domain, range, axis, runs, is_permutation);
}

#define INSTANTIATE(T)                                                                   \
  template LinearOperator<T> axis_map<T>(std::string, const Layout&, const Layout&, int, \
                                         const std::vector<DirectedRun>&, bool);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
