#include "comm/core_set.hpp"

#include <sched.h>

#include <bit>
#include <tuple>

namespace weft::detail {

CoreSet CoreSet::of_process() {
  CoreSet cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cores;
  constexpr int most = bits * static_cast<int>(std::tuple_size_v<decltype(words_)>);
  for (int core = 0; core < CPU_SETSIZE && core < most; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.add(core);
  }
  return cores;
}

int CoreSet::count() const {
  int count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

}  // namespace weft::detail
