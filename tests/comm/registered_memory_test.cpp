// Registered memory on all routes; tests/comm/cuda/fast_registered_test.cu has the route "fast".

#include <weft/comm/registered_memory.hpp>

#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

TEST(RegisteredMemory, can_be_used_where_it_has_no_effect) {
  on_ranks([](const Comm& comm) {
    std::vector<double> values(100, 1.0 + comm.rank());
    RegisteredMemory memory(comm, values);
    EXPECT_FALSE(memory.is_direct());
    EXPECT_NE(memory.obstacle(), "");
    EXPECT_EQ(memory.memory().data, values.data());
    comm.allreduce(memory.memory());
    EXPECT_EQ(values, std::vector<double>(100, comm.size() * (comm.size() + 1) / 2.0));
    RegisteredMemory other = std::move(memory);
    EXPECT_EQ(other.memory().data, values.data());
    EXPECT_EQ(memory.memory().data, nullptr);
    other = RegisteredMemory();
    comm.allreduce(values);
  });
}

TEST(RegisteredMemory, is_allocated_on_the_device_of_the_communicator) {
  on_ranks([](const Comm& world) {
    const Comm comm = world.on(Device::debug());
    const RegisteredMemory memory = RegisteredMemory::allocate(comm, 1001);
    EXPECT_EQ(memory.memory().where, Device::debug());
    EXPECT_EQ(memory.memory().count, 1001);
    EXPECT_EQ(memory.as<double>().count, 125);
    EXPECT_EQ(memory.data<double>(), memory.memory().data);
    const std::vector<double> ones(125, 1.0);
    copy_bytes(memory.data<double>(), Device::debug(), ones.data(), Device::cpu(), 1000);
    comm.allreduce(memory.as<double>());
    std::vector<double> sums(125);
    copy_bytes(sums.data(), Device::cpu(), memory.data<double>(), Device::debug(), 1000);
    EXPECT_EQ(sums, std::vector<double>(125, comm.size()));
  });
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const AgreedError& error) {
    return error.what();
  }
  return "none";
}

TEST(RegisteredMemory, is_refused_on_all_ranks_together) {
  on_ranks([](const Comm& comm) {
    std::vector<double> values(10);
    const bool last = comm.rank() == comm.size() - 1;
    const BufferRef nowhere(static_cast<double*>(nullptr), 10);
    const std::string error =
        error_of([&] { const RegisteredMemory memory(comm, last ? nowhere : BufferRef(values)); });
    EXPECT_NE(error.find("10 elements at address 0x0"), std::string::npos) << error;
    const std::string none = error_of([&] { RegisteredMemory::allocate(comm, last ? 0 : 10); });
    EXPECT_NE(none.find("bytes must be positive, got 0"), std::string::npos) << none;
    comm.barrier();
  });
}

TEST(RegisteredMemory, must_be_of_one_kind) {
  if (ranks() == 1) GTEST_SKIP() << "needs several ranks";
  on_ranks([](const Comm& world) {
    const Comm comm = world.on(Device::debug());
    std::vector<double> values(10);
    const bool last = comm.rank() == comm.size() - 1;
    const std::string error = error_of([&] {
      if (last) {
        RegisteredMemory::allocate(comm, 80);
      } else {
        const RegisteredMemory memory(comm, values);
      }
    });
    EXPECT_NE(error.find("registered memory, allocated on debug"), std::string::npos) << error;
    EXPECT_NE(error.find("registered memory, passed on cpu"), std::string::npos) << error;
    comm.barrier();
  });
}

}  // namespace
}  // namespace weft::test
