#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/kernel/dispatch.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft {
namespace {

Buffer<int> on_debug(const std::vector<int>& values) {
  Buffer<int> buffer(static_cast<index_t>(values.size()), Device::debug());
  copy_bytes(buffer.data(), buffer.device(), values.data(), Device::cpu(),
             values.size() * sizeof(int));
  return buffer;
}

std::vector<int> on_host(const Buffer<int>& buffer) {
  std::vector<int> values(static_cast<std::size_t>(buffer.size()));
  copy_bytes(values.data(), Device::cpu(), buffer.data(), buffer.device(),
             values.size() * sizeof(int));
  return values;
}

}  // namespace

TEST(Device, is_parsed_and_printed) {
  EXPECT_EQ(Device::parse("cpu"), Device::cpu());
  EXPECT_EQ(Device::parse("debug"), Device::debug());
  EXPECT_EQ(Device::parse("cuda"), Device::cuda(0));
  EXPECT_EQ(Device::parse("cuda:0"), Device::cuda());
  EXPECT_EQ(Device::parse("cuda:12"), Device::cuda(12));
  for (const Device device : {Device::cpu(), Device::debug(), Device::cuda(), Device::cuda(3)}) {
    EXPECT_EQ(Device::parse(to_string(device)), device) << to_string(device);
  }
  EXPECT_EQ(to_string(Device::cpu()), "cpu");
  EXPECT_EQ(to_string(Device::debug()), "debug");
  EXPECT_EQ(to_string(Device::cuda(3)), "cuda:3");
}

TEST(Device, refuses_other_texts) {
  for (const char* text : {"", "gpu", "CPU", "cpu:0", "debug:1", "cuda:", "cuda:-1", "cuda:x",
                           "cuda:1x", "cuda:99999999999", " cpu", "cpu ", "cuda:+1", ":"}) {
    EXPECT_THROW(Device::parse(text), ArgumentError) << "'" << text << "'";
  }
  try {
    Device::parse("tpu");
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("tpu"), std::string::npos) << error.what();
  }
}

TEST(Device, differs_by_kind_and_number) {
  EXPECT_NE(Device::cpu(), Device::debug());
  EXPECT_NE(Device::cuda(0), Device::cuda(1));
  EXPECT_EQ(Device(), Device::cpu());
  EXPECT_TRUE(Device::cpu().host_accessible());
  EXPECT_FALSE(Device::debug().host_accessible());
  EXPECT_FALSE(Device::cuda().host_accessible());
  EXPECT_EQ(Stream::current(Device::debug()).device(), Device::debug());
}

TEST(Device, must_be_available) {
  EXPECT_NO_THROW(require_available(Device::cpu()));
  EXPECT_NO_THROW(require_available(Device::debug()));
  // No machine has this many GPUs.
  EXPECT_THROW(require_available(Device::cuda(9999)), DeviceError);
  EXPECT_THROW(Buffer<int>(10, Device::cuda(9999)), DeviceError);
}

TEST(Device, memory_is_copied_between_all_kinds) {
  std::vector<int> values(3001);
  std::iota(values.begin(), values.end(), 5);
  const Buffer<int> first = on_debug(values);
  Buffer<int> second(first.size(), Device::debug());
  copy_bytes(second.data(), second.device(), first.data(), first.device(),
             values.size() * sizeof(int));
  EXPECT_EQ(on_host(second), values);
  Buffer<int> host(first.size());
  copy_bytes(host.data(), host.device(), second.data(), second.device(),
             values.size() * sizeof(int));
  EXPECT_EQ(std::memcmp(host.data(), values.data(), values.size() * sizeof(int)), 0);
  // Zero bytes may be copied from null.
  EXPECT_NO_THROW(copy_bytes(nullptr, Device::debug(), nullptr, Device::cpu(), 0));
}

TEST(Device, debug_runs_kernels_in_its_memory) {
  const Buffer<int> in = on_debug({1, 2, 3});
  Buffer<int> out(3, Device::debug());
  const int sum = dispatch(Device::debug(), [&](auto device) {
    static_assert(std::is_same_v<decltype(device), Cpu>);
    int total = 0;
    for (index_t i = 0; i < 3; ++i) {
      out.data()[i] = 10 * in.data()[i];
      total += in.data()[i];
    }
    return total;
  });
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(on_host(out), (std::vector<int>{10, 20, 30}));
}

TEST(Device, dispatch_returns_the_result_of_the_function) {
  EXPECT_EQ(dispatch(Device::cpu(), [](Cpu) { return 7; }), 7);
  int number = 1;
  int& same = dispatch(Device::debug(), [&](Cpu) -> int& { return number; });
  EXPECT_EQ(&same, &number);
  EXPECT_THROW(dispatch(Device::debug(), [](Cpu) { throw DeviceError("inside"); }), DeviceError);
}

TEST(Device, debug_memory_allocated_in_a_kernel_is_accessible) {
  const auto values = dispatch(Device::debug(), [](Cpu) {
    Buffer<int> fresh(100'000, Device::debug());
    for (index_t i = 0; i < fresh.size(); ++i) fresh.data()[i] = 4;
    return on_host(fresh);
  });
  EXPECT_EQ(values, std::vector<int>(100'000, 4));
}

TEST(Device, debug_is_used_by_several_threads_at_once) {
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&wrong, thread] {
        for (int round = 0; round < 300; ++round) {
          Buffer<int> buffer(1 + round * 7, Device::debug());
          dispatch(Device::debug(), [&](Cpu) {
            for (index_t i = 0; i < buffer.size(); ++i) buffer.data()[i] = thread * 1000 + round;
          });
          for (const int value : on_host(buffer)) wrong += value == thread * 1000 + round ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

// Errors that a GPU would not report end the program on the debug device.

class DeviceDeathTest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(DeviceDeathTest, debug_memory_cannot_be_read_by_the_host) {
  const Buffer<int> buffer = on_debug({1, 2, 3});
  EXPECT_DEATH({ std::fprintf(stderr, "%d\n", buffer.data()[1]); }, "");
}

TEST_F(DeviceDeathTest, debug_memory_cannot_be_written_by_the_host) {
  Buffer<int> buffer = on_debug({1, 2, 3});
  EXPECT_DEATH({ buffer.data()[0] = 5; }, "");
}

TEST_F(DeviceDeathTest, debug_memory_is_protected_after_a_kernel) {
  Buffer<int> buffer = on_debug({1, 2, 3});
  dispatch(Device::debug(), [&](Cpu) { buffer.data()[0] = 5; });
  EXPECT_THROW(dispatch(Device::debug(), [](Cpu) { throw DeviceError("inside"); }), DeviceError);
  EXPECT_DEATH({ buffer.data()[0] = 6; }, "");
  EXPECT_EQ(on_host(buffer)[0], 5);
}

TEST_F(DeviceDeathTest, reused_debug_memory_is_protected) {
  { const Buffer<int> first = on_debug(std::vector<int>(100)); }
  Buffer<int> second(100, Device::debug());
  EXPECT_DEATH({ second.data()[0] = 6; }, "");
}

}  // namespace weft
