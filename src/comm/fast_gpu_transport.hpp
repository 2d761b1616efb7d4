#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// Calls on memory of GPUs by kernels that reach into each other's memory. `one_gpu` tells that the
/// ranks of `host` share one. Collective.
std::shared_ptr<Transport> make_fast_gpu_transport(const std::shared_ptr<Transport>& host,
                                                   Device device, bool one_gpu);

}  // namespace weft::detail
