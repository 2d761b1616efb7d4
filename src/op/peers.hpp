#pragma once

#include <weft/comm/comm.hpp>

namespace weft::detail {

/// Whether the communicator has more than one rank.
inline bool has_peers(const Comm& comm) { return comm.valid() && comm.size() > 1; }

}  // namespace weft::detail
