#include "comm/core_set.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace weft::test {
namespace {

using weft::detail::CoreSet;

TEST(CoreSet, counts_each_core_once) {
  CoreSet first;
  for (const int core : {0, 63, 64, 1023, 64}) first.add(core);
  EXPECT_EQ(first.count(), 4);
  CoreSet second;
  for (const int core : {64, 65}) second.add(core);
  first.add(second);
  EXPECT_EQ(first.count(), 5);
  EXPECT_FALSE(first.fewer_than(5));
  EXPECT_TRUE(first.fewer_than(6));
}

TEST(CoreSet, that_is_unknown_is_not_too_small) { EXPECT_FALSE(CoreSet().fewer_than(100)); }

// Ranks that a launcher binds to a core each have one core alone, and enough together.
TEST(CoreSet, of_a_bound_process_has_its_core_only) {
  std::thread([] {  // its affinity is its own
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    int core = 0;
    while (!CPU_ISSET(core, &before)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    CoreSet cores = CoreSet::of_process();
    EXPECT_EQ(cores.count(), 1);
    EXPECT_TRUE(cores.fewer_than(2));
    cores.add(core == 0 ? 1 : core - 1);
    EXPECT_FALSE(cores.fewer_than(2));
  })
      .join();
}

}  // namespace
}  // namespace weft::test
