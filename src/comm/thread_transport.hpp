#pragma once

#include <weft/comm/transport.hpp>

#include <memory>
#include <vector>

namespace weft::detail {

/// Transports of `ranks` threads of this process, one per rank.
std::vector<std::shared_ptr<Transport>> make_thread_team(int ranks);

}  // namespace weft::detail
