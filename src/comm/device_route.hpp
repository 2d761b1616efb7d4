#pragma once

// How memory of GPUs travels between ranks: decided once for a communicator, by all ranks alike.

#include <weft/comm/comm.hpp>

#include "comm/transport.hpp"
#include "core/environment.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::detail {

/// What a rank tells the others. Plain numbers, since it is sent as bytes.
struct RouteFacts {
  std::uint64_t host = 0;
  std::uint64_t gpu = 0;          // the same for the same GPU, whatever processes call it
  std::int32_t nccl_version = 0;  // as NCCL numbers them: 22809 is 2.28.9; 0 is none
  std::int32_t cuda_aware_mpi = 0;
  RouteRequest request = RouteRequest::automatic;
  std::int32_t padding = 0;
};
RouteFacts this_ranks_facts(const Transport& host, Device device);

/// The same on all ranks, from the facts of all. Throws AgreedError if a request cannot be met.
Route choose_route(std::string_view host_transport, std::span<const RouteFacts> ranks);

inline constexpr std::int32_t oldest_nccl = 21800;
std::string nccl_version_text(std::int32_t version);

/// Gives a communicator the transport that takes memory of this rank's GPU. Collective.
void choose_gpu_transport(CommState& state, Device device);
/// The same for a rank that is alone, and needs nobody to move its memory; else nothing.
void use_self_route_if_single(CommState& state);

}  // namespace weft::detail
