#pragma once

// The route of GPU memory between ranks: chosen once for a communicator, the same on all ranks.

#include <weft/comm/comm.hpp>

#include "comm/transport.hpp"
#include "core/environment.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::detail {

/// What ranks exchange to choose a route. Plain numbers, since it is sent as bytes.
struct RouteFacts {
  std::uint64_t machine = 0;
  std::uint64_t gpu = 0;          // identifies the GPU in all processes
  std::uint64_t table = 0;        // AllreduceTable::hash()
  std::int32_t nccl_version = 0;  // as NCCL numbers them: 22809 is 2.28.9; 0 is none
  std::int32_t cuda_aware_mpi = 0;
  RouteRequest request = RouteRequest::automatic;
  std::int32_t fast_allowed = 1;  // WEFT_FAST
  std::int32_t connections = 0;   // hardware queues for the streams of this process
  std::int32_t by_option = 0;     // --comm fast made the request
  std::int32_t others = 0;        // the process has threads that are not among these ranks
};

/// --comm fast: all communicators of this process request the route "fast", as with
/// WEFT_DEVICE_COMM=fast, until clear_comm_fast(). Throws ArgumentError if WEFT_DEVICE_COMM or
/// WEFT_FAST contradicts it.
void set_comm_fast();
void clear_comm_fast() noexcept;
/// By --comm fast or else by WEFT_DEVICE_COMM.
RouteRequest route_request();

RouteFacts local_route_facts(const Transport& host, Device device);

/// Computes the same route on all ranks. Throws AgreedError if a request cannot be satisfied.
/// `not_fast`, if not empty, is why "fast" was tried in vain.
Route choose_route(std::string_view host_transport, std::span<const RouteFacts> ranks,
                   const std::string& not_fast = {});

inline constexpr std::int32_t oldest_nccl = 21800;
std::string nccl_version_text(std::int32_t version);

/// Sets the transport for memory of this rank's GPU. Collective.
void choose_gpu_transport(CommState& state, Device device);
/// Sets the transport for GPU memory in the part of a communicator that this rank enters with this
/// color, if it enters any. Collective over the whole.
void split_gpu_transport(CommState& whole, CommState& part, int color);
/// Sets the transport for a communicator of one rank; does nothing for others.
void use_self_route_if_single(CommState& state);

}  // namespace weft::detail
