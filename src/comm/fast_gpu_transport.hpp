#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// Calls on memory of one GPU that the ranks of `host` share, by kernels that reach into each
/// other's memory. Its first call is collective on `host`, too.
std::shared_ptr<Transport> make_fast_gpu_transport(std::shared_ptr<Transport> host, Device device);

}  // namespace weft::detail
