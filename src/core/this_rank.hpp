#pragma once

namespace weft::detail {

/// The rank that this thread is, for messages that no communicator is at hand for; -1 if it is not
/// known.
int this_rank() noexcept;
void set_this_rank(int rank) noexcept;

}  // namespace weft::detail
