#include "array/flat_exchange.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/run_kernels.hpp"
#include "array/strides.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

/// The ranks of this rank's group, in the order of group_comm().
std::vector<int> group_members(const Layout& layout) {
  std::vector<int> ranks;
  const int group = layout.group(layout.comm().rank());
  for (int rank = 0; rank < layout.comm().size(); ++rank) {
    if (layout.group(rank) == group) ranks.push_back(rank);
  }
  return ranks;
}

/// f(position in the first, position in the second, length) for the elements that two ascending
/// lists of runs have in common, in ascending order.
template <class F>
void for_each_common(const std::vector<FlatRun>& first, const std::vector<FlatRun>& second, F f) {
  auto a = first.begin();
  auto b = second.begin();
  while (a != first.end() && b != second.end()) {
    const index_t begin = std::max(a->number, b->number);
    const index_t a_end = a->number + a->length;
    const index_t b_end = b->number + b->length;
    const index_t length = std::min(a_end, b_end) - begin;
    if (length > 0) f(a->position + begin - a->number, b->position + begin - b->number, length);
    if (a_end <= b_end) ++a;
    if (b_end <= a_end) ++b;
  }
}

index_t common_count(const std::vector<FlatRun>& first, const std::vector<FlatRun>& second) {
  index_t count = 0;
  for_each_common(first, second, [&](index_t, index_t, index_t length) { count += length; });
  return count;
}

}  // namespace

void add_flat_runs(const Box& region, const Index& shift, const Box& box, const Shape& shape,
                   std::vector<FlatRun>& runs) {
  if (region.shape.count() == 0) return;
  const int ndim = shape.ndim();
  if (ndim == 0) {
    runs.push_back({0, 0, 1});
    return;
  }
  // Axes after `inner` are complete in the region, so that each run consists of all of them.
  int inner = ndim - 1;
  while (inner > 0 && region.shape[inner] == shape[inner]) --inner;
  const index_t length = region.shape.count(inner, ndim);
  const Index strides = strides_of(box.shape);
  Index at = Index::filled(inner, 0);
  for (index_t row = region.shape.count(0, inner); row > 0; --row) {
    Index number = region.offset;
    index_t position = 0;
    for (int axis = 0; axis < ndim; ++axis) {
      const index_t inside = axis < inner ? at[axis] : 0;
      position += strides[axis] * (region.offset[axis] - box.offset[axis] + inside);
      number[axis] += shift[axis] + inside;
    }
    runs.push_back({linear(shape, number), position, length});
    for (int axis = inner - 1; axis >= 0; --axis) {
      if (++at[axis] < region.shape[axis]) break;
      at[axis] = 0;
    }
  }
}

std::vector<FlatRun> flat_runs(const Layout& layout, int rank) {
  std::vector<FlatRun> runs;
  const Box& box = layout.box(rank);
  add_flat_runs(box, Index::filled(layout.ndim(), 0), box, layout.shape(), runs);
  return runs;
}

template <Scalar T>
void FlatExchange<T>::Copies::add(index_t from, index_t to, index_t length) {
  from_.push_back(from);
  to_.push_back(to);
  lengths_.push_back(length);
  elements_ += length;
}

template <Scalar T>
void FlatExchange<T>::Copies::finish(Device device) {
  if (elements_ == 0) return;
  // The kernel visits `longest` elements of every run. Runs that are longer than the average are
  // divided: this at most doubles their number, and visits at most twice the elements.
  const auto runs = static_cast<index_t>(lengths_.size());
  longest_ = (elements_ + runs - 1) / runs;
  std::vector<index_t> from;
  std::vector<index_t> to;
  std::vector<index_t> lengths;
  for (std::size_t run = 0; run < lengths_.size(); ++run) {
    for (index_t first = 0; first < lengths_[run]; first += longest_) {
      from.push_back(from_[run] + first);
      to.push_back(to_[run] + first);
      lengths.push_back(std::min(longest_, lengths_[run] - first));
    }
  }
  count_ = static_cast<index_t>(lengths.size());
  from.insert(from.end(), to.begin(), to.end());
  from.insert(from.end(), lengths.begin(), lengths.end());
  table_ = Buffer<index_t>(3 * count_, device);
  copy_bytes(table_.data(), device, from.data(), Device::cpu(), from.size() * sizeof(index_t));
  from_ = to_ = lengths_ = {};
}

template <Scalar T>
void FlatExchange<T>::Copies::run(Device device, const T* x, T* y, T alpha, T beta) const {
  if (elements_ == 0) return;
  dispatch(device, [&](auto tag) {
    const index_t* table = table_.data();
    kernels::axpby_runs(tag, count_, longest_, table, table + count_, table + 2 * count_,
                        kernel_value(alpha), kernel_cast(x), kernel_value(beta), kernel_cast(y));
  });
}

template <Scalar T>
void FlatExchange<T>::Side::begin_peer() {
  counts.push_back(0);
  offsets.push_back(0);
}

template <Scalar T>
void FlatExchange<T>::Side::add(index_t position, index_t length, bool is_outgoing) {
  copies.add(is_outgoing ? position : packed, is_outgoing ? packed : position, length);
  if (counts.back() == 0) offsets.back() = position;
  in_place = in_place && position == offsets.back() + counts.back();
  counts.back() += length;
  packed += length;
}

template <Scalar T>
void FlatExchange<T>::Side::finish(Device device, bool needs_buffer) {
  parts = in_place && !needs_buffer ? Parts(counts, offsets) : Parts(counts);
  if (in_place && !needs_buffer) return;
  copies.finish(device);
  buffer = Buffer<T>(packed, device);
}

template <Scalar T>
FlatExchange<T>::FlatExchange(const Layout& from, const Layout& to, const FlatRunsOf& sources,
                              const FlatRunsOf& targets)
    : comm_(from.group_comm()), device_(to.device()) {
  const int me = from.comm().rank();
  const std::vector<FlatRun> my_sources = sources(me);
  const std::vector<FlatRun> my_targets = targets(me);
  for_each_common(my_sources, my_targets, [&](index_t source, index_t target, index_t length) {
    own_.add(source, target, length);
  });
  own_.finish(device_);
  if (from.is_replicated()) return;

  for (const int peer : group_members(from)) {
    outgoing_.begin_peer();
    incoming_.begin_peer();
    const std::vector<FlatRun> peer_sources = sources(peer);
    const std::vector<FlatRun> peer_targets = targets(peer);
    messages_ = messages_ || common_count(peer_sources, peer_targets) != to.local_count(peer);
    if (peer == me) continue;
    for_each_common(my_sources, peer_targets, [&](index_t source, index_t, index_t length) {
      outgoing_.add(source, length, true);
    });
    for_each_common(peer_sources, my_targets, [&](index_t, index_t target, index_t length) {
      incoming_.add(target, length, false);
    });
  }
  if (!messages_) return;
  outgoing_.finish(device_, false);
  incoming_.finish(device_, true);
}

template <Scalar T>
double FlatExchange<T>::bytes() const {
  // Packing and unpacking read and write every element once more than the messages do.
  const index_t packed = outgoing_.packed + incoming_.packed;
  return 2.0 * sizeof(T) * static_cast<double>(own_.elements() + (messages_ ? packed : 0));
}

template <Scalar T>
void FlatExchange<T>::run(const ConstArrayView<T>& x, const ArrayView<T>& y, T alpha, T beta) {
  own_.run(device_, x.data(), y.data(), alpha, beta);
  if (!messages_) return;
  if (!outgoing_.in_place) {
    outgoing_.copies.run(device_, x.data(), outgoing_.buffer.data(), T{1}, T{});
  }
  const ConstBufferRef out = outgoing_.in_place ? ConstBufferRef(x.data(), x.local_count(), device_)
                                                : ConstBufferRef(outgoing_.buffer);
  comm_.all_to_all_v(out, outgoing_.parts, BufferRef(incoming_.buffer), incoming_.parts);
  incoming_.copies.run(device_, incoming_.buffer.data(), y.data(), alpha, beta);
}

template class FlatExchange<float>;
template class FlatExchange<double>;
template class FlatExchange<std::complex<float>>;
template class FlatExchange<std::complex<double>>;

}  // namespace weft::detail
