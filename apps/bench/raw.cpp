#include "bench/raw.hpp"

#include <fmt/core.h>

namespace weft::bench {

RawChoice choose_raw(const Comm& world) {
  const Route route = world.route(world.device());
#ifdef WEFT_WITH_NCCL
  if (route.name == "nccl") return {make_raw_nccl(world), ""};
#endif
#ifdef WEFT_WITH_MPI
  if (route.name == "mpi" && world.device().host_accessible()) return {make_raw_mpi(world), ""};
#endif
  return {nullptr, fmt::format("memory of {} takes the route '{}', which has no bare call",
                               to_string(world.device()), route.name)};
}

}  // namespace weft::bench
