#include "op/matrix/column_exchange.hpp"

#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "op/matrix/sparse_kernels.hpp"
#include "op/to_device.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

/// How many of the ascending positions are in the part of each rank.
std::vector<index_t> counts_by_owner(const std::vector<ElementRange>& parts,
                                     const std::vector<index_t>& positions) {
  std::vector<index_t> counts;
  for (const ElementRange& part : parts) {
    const auto first = std::lower_bound(positions.begin(), positions.end(), part.begin);
    counts.push_back(std::lower_bound(first, positions.end(), part.end) - first);
  }
  return counts;
}

}  // namespace

template <Scalar T>
ColumnExchange<T>::ColumnExchange(const Comm& comm, Device device,
                                  const std::vector<ElementRange>& parts,
                                  const std::vector<index_t>& ghosts)
    : ghosts_(static_cast<index_t>(ghosts.size()), device), fetch_(comm), adjoint_messages_(comm) {
  if (comm.size() == 1) return;
  std::vector<index_t> wanted = counts_by_owner(parts, ghosts);
  std::vector<index_t> requested(wanted.size());
  comm.all_to_all(wanted, requested);
  const Parts incoming(std::move(wanted));
  const Parts outgoing(std::move(requested));
  std::vector<index_t> places(static_cast<std::size_t>(outgoing.extent()));
  comm.all_to_all_v(ghosts, incoming, places, outgoing);
  for (index_t& place : places) place -= parts[static_cast<std::size_t>(comm.rank())].begin;
  send_indices_ = to_device<index_t>(places, device);
  packed_ = Buffer<T>(outgoing.extent(), device);
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (outgoing.count(peer) > 0) {
      requested_.push_back({outgoing.offset(peer), outgoing.count(peer)});
      const BufferRef elements =
          BufferRef(packed_).part(outgoing.offset(peer), outgoing.count(peer));
      fetch_.send(elements, peer);
      adjoint_messages_.recv(elements, peer);
    }
    if (incoming.count(peer) > 0) {
      ++adjoint_sends_;
      const BufferRef elements =
          BufferRef(ghosts_).part(incoming.offset(peer), incoming.count(peer));
      fetch_.recv(elements, peer);
      adjoint_messages_.send(elements, peer);
    }
  }
}

template <Scalar T>
void ColumnExchange<T>::start(const T* x) {
  if (!has_messages()) return;
  dispatch(packed_.device(), [&](auto device) {
    kernels::gather_elements(device, packed_.size(), std::as_const(send_indices_).data(),
                             kernel_cast(x), kernel_cast(packed_.data()));
  });
  fetch_.start();
}

template <Scalar T>
void ColumnExchange<T>::finish() {
  if (has_messages()) fetch_.finish();
}

template <Scalar T>
void ColumnExchange<T>::start_adjoint() {
  if (has_messages()) adjoint_messages_.start();
}

template <Scalar T>
void ColumnExchange<T>::finish_adjoint(T alpha, T* x) {
  if (!has_messages()) return;
  adjoint_messages_.finish();
  dispatch(packed_.device(), [&](auto device) {
    for (const Requested& elements : requested_) {
      kernels::add_elements(
          device, elements.count, std::as_const(send_indices_).data() + elements.first,
          kernel_value(alpha), kernel_cast(std::as_const(packed_).data() + elements.first),
          kernel_cast(x));
    }
  });
}

template <Scalar T>
void ColumnExchange<T>::abandon() noexcept {
  fetch_.abandon();
  adjoint_messages_.abandon();
}

#define INSTANTIATE(T) template class ColumnExchange<T>;
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
