// Messages for host code that accesses memory of the debug device.

#include <weft/core/buffer.hpp>
#include <weft/kernel/dispatch.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <barrier>
#include <csignal>
#include <thread>
#include <vector>

namespace weft::test {
namespace {

const testing::KilledBySignal killed(SIGSEGV);

void write_to(double* data) { *static_cast<volatile double*>(data) = 1; }
double read_from(const double* data) { return *static_cast<const volatile double*>(data); }

double* bad_address() {
  volatile std::uintptr_t low = 64;
  return reinterpret_cast<double*>(low);
}

}  // namespace

TEST(DebugMemory, passes_other_faults_to_the_previous_handler) {
  const auto fault = [] {
    struct sigaction action = {};
    action.sa_handler = [](int) { _exit(42); };
    sigaction(SIGSEGV, &action, nullptr);
    const Buffer<double> buffer(3, Device::debug());
    write_to(bad_address());
  };
  EXPECT_EXIT(fault(), testing::ExitedWithCode(42), "^$");
}

TEST(DebugMemory, other_faults_end_the_program) {
  const auto fault = [] {
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler of their own
    const Buffer<double> buffer(3, Device::debug());
    write_to(bad_address());
  };
  EXPECT_EXIT(fault(), killed, "^$");
}

TEST(DebugMemory, sent_signals_are_not_explained) {
  const auto send = [] {
    std::signal(SIGSEGV, SIG_DFL);
    const Buffer<double> buffer(3, Device::debug());
    raise(SIGSEGV);
  };
  EXPECT_EXIT(send(), killed, "^$");
}

TEST(DebugMemory, names_the_accessed_block) {
  const auto touch = [](bool write) {
    Buffer<double> buffer(12, Device::debug());
    if (write) {
      write_to(buffer.data() + 5);
    } else {
      read_from(buffer.data() + 5);
    }
  };
#if defined(__x86_64__)
  EXPECT_EXIT(touch(true), killed, "the host writes memory of the debug device at 0x[0-9a-f]+");
  EXPECT_EXIT(touch(false), killed, "the host reads memory of the debug device at 0x[0-9a-f]+");
#endif
  EXPECT_EXIT(touch(true), killed,
              "byte 40 of a buffer: 96 bytes \\(12 elements of 8\\) at 0x[0-9a-f]+ to 0x[0-9a-f]+, "
              "allocation [0-9]+, of a thread without a rank");
  EXPECT_EXIT(touch(true), killed, "instruction at 0x[0-9a-f]+.*weft_core_tests.*allocated from");
}

TEST(DebugMemoryDeathTest, reports_one_fault_completely_when_several_threads_fault) {
  const auto touch = [] {
    constexpr int threads = 4;
    Buffer<double> buffer(12, Device::debug());
    std::barrier<> together(threads);
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        together.arrive_and_wait();
        write_to(buffer.data() + 5);
      });
    }
  };
  for (int round = 0; round < 10; ++round) {
    EXPECT_EXIT(touch(), killed, "^weft: .*the host.*allocated from\n.*weft_core_tests");
  }
}

TEST(DebugMemory, names_released_memory) {
  const auto touch = [] {
    double* data = nullptr;
    {
      Buffer<double> buffer(12, Device::debug());
      data = buffer.data();
    }
    write_to(data);
  };
  EXPECT_EXIT(touch(), killed, "12 elements of 8.*which has been released");
}

TEST(DebugMemory, is_accessible_to_kernels_and_copies) {
  Buffer<double> buffer(4, Device::debug());
  dispatch(Device::debug(), [&](auto) { write_to(buffer.data()); });
  double value = 0;
  copy_bytes(&value, Device::cpu(), buffer.data(), Device::debug(), sizeof(value));
  EXPECT_EQ(value, 1);
}

}  // namespace weft::test
