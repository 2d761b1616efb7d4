#pragma once

// Calls that ranks make faster by themselves than through the transport beneath: blocking
// allreduces of host memory among processes of one host, through shared memory.

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// A transport that takes the calls it can do better and passes the others on.
std::shared_ptr<Transport> make_fast_transport(std::shared_ptr<Transport> beneath);

}  // namespace weft::detail
