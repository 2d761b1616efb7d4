#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// In NCCL's numbering: 22809 is 2.28.9.
int nccl_version();

/// Connects the ranks of a host transport by NCCL, each with its own GPU. Collective; throws on all
/// ranks if it fails on one.
std::shared_ptr<Transport> make_nccl_transport(const std::shared_ptr<Transport>& host,
                                               Device device);

}  // namespace weft::detail
