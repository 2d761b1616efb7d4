#pragma once

#include "comm/transport.hpp"

#include <memory>

namespace weft::detail {

/// As NCCL numbers them: 22809 is 2.28.9.
int nccl_version();

/// NCCL among the ranks of a host transport, over which they exchange what it needs to begin. Each
/// on the GPU it names. Collective; throws on all ranks if it fails on one.
std::shared_ptr<Transport> make_nccl_transport(const std::shared_ptr<Transport>& host,
                                               Device device);

}  // namespace weft::detail
