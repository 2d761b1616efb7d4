// If the host accesses an array on the debug device, the error names the array and the rank.

#include <weft/array/distributed_array.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace weft::test {

TEST(DebugDevice, names_the_array_and_the_rank_of_an_access) {
  if (world() == World::mpi) GTEST_SKIP() << "processes of an MPI job cannot be forked";
  const auto touch = [] {
    on_ranks([](Comm comm) {
      DistributedArray<double> x(Layout::scatter(comm, {4 * comm.size(), 5}).on(Device::debug()));
      comm.barrier();
      if (comm.rank() + 1 == comm.size()) *static_cast<volatile double*>(x.data() + 3) = 1;
      comm.barrier();
    });
  };
  const int last = ranks() - 1;
  const std::string who =
      last > 0 ? "rank " + std::to_string(last) : std::string("a thread without a rank");
  const std::string shape = "\\(" + std::to_string(4 * ranks()) + ", 5\\)";
  EXPECT_EXIT(
      touch(), testing::KilledBySignal(SIGSEGV),
      who + ": the host .*byte 24 of an array of f64 " + shape + " .*160 bytes.*, of " + who);
}

}  // namespace weft::test
