#pragma once

#include <weft/comm/comm.hpp>

namespace weft::detail {

/// There is somebody to send messages to.
inline bool has_peers(const Comm& comm) { return comm.valid() && comm.size() > 1; }

}  // namespace weft::detail
