#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// Calls on memory of one GPU that the ranks of `host` share, by kernels that reach into each
/// other's memory. Collective.
std::shared_ptr<Transport> make_fast_gpu_transport(const std::shared_ptr<Transport>& host,
                                                   Device device);

}  // namespace weft::detail
