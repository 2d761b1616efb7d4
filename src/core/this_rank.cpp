#include "core/this_rank.hpp"

namespace weft::detail {
namespace {

thread_local int rank_of_thread = -1;

}  // namespace

int this_rank() noexcept { return rank_of_thread; }
void set_this_rank(int rank) noexcept { rank_of_thread = rank; }

}  // namespace weft::detail
