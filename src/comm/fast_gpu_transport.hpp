#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// Calls on memory of one GPU that the ranks of `host` share, by kernels that reach into each
/// other's memory. Ranks must be threads of this process. Collective in its first call.
std::shared_ptr<Transport> make_fast_gpu_transport(std::shared_ptr<Transport> host, Device device);

}  // namespace weft::detail
