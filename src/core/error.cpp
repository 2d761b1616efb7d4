#include <weft/core/error.hpp>

namespace weft {

AbortedError::AbortedError(int failed_rank, std::string reason)
    : CommError(fmt::format("rank {} failed: {}", failed_rank, reason)),
      failed_rank_(failed_rank),
      reason_(std::move(reason)) {}

}  // namespace weft
