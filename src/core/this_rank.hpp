#pragma once

namespace weft::detail {

/// The rank of this thread, for messages without a communicator; -1 if unknown.
int this_rank() noexcept;
void set_this_rank(int rank) noexcept;

}  // namespace weft::detail
