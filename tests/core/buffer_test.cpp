#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/dispatch.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <complex>
#include <cstdint>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

namespace weft {
namespace {

class BufferOn : public testing::TestWithParam<Device> {};

/// Resident memory of this process in bytes.
index_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  index_t total = 0;
  index_t resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::uintptr_t address_of(const Buffer<char>& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data());
}

/// The distance of the page offsets of two buffers, modulo 4 KiB.
index_t page_distance(const Buffer<char>& a, const Buffer<char>& b) {
  const auto ahead = static_cast<index_t>((address_of(a) - address_of(b)) % 4096);
  return std::min(ahead, 4096 - ahead);
}

/// The smallest distance of any two.
index_t least_page_distance(const std::vector<Buffer<char>>& buffers) {
  index_t least = 4096;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      least = std::min(least, page_distance(buffers[i], buffers[j]));
    }
  }
  return least;
}

void touch(Buffer<char>& buffer) {
  dispatch(buffer.device(), [&](Cpu) {
    for (index_t i = 0; i < buffer.size(); i += 512) buffer.data()[i] = 1;
  });
}

}  // namespace

TEST_P(BufferOn, is_aligned_to_64_bytes) {
  std::vector<Buffer<char>> kept;
  for (const index_t size : {1, 3, 63, 64, 65, 1000, 4095, 70'000, 3'000'000, 9'999'999}) {
    const Buffer<char>& buffer = kept.emplace_back(size, GetParam());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U) << size;
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(buffer.device(), GetParam());
  }
}

TEST_P(BufferOn, holds_all_its_elements) {
  for (const index_t size : {1, 7, 1025, 300'000}) {
    Buffer<double> a(size, GetParam());
    Buffer<double> b(size, GetParam());
    dispatch(GetParam(), [&](Cpu) {
      for (index_t i = 0; i < size; ++i) {
        a.data()[i] = static_cast<double>(i);
        b.data()[i] = -1;
      }
      index_t wrong = 0;
      for (index_t i = 0; i < size; ++i) wrong += a.data()[i] == static_cast<double>(i) ? 0 : 1;
      EXPECT_EQ(wrong, 0);
    });
  }
}

TEST_P(BufferOn, without_elements_allocates_nothing) {
  const MemoryStats before = memory_stats(GetParam());
  const Buffer<double> empty(0, GetParam());
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0);
  EXPECT_EQ(empty.device(), GetParam());
  EXPECT_EQ(memory_stats(GetParam()).bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(memory_stats(GetParam()).allocations, before.allocations);
}

TEST_P(BufferOn, is_counted) {
  for (const index_t size : {1, 64, 100, 5000, 123'456, 10'000'000}) {
    const MemoryStats before = memory_stats(GetParam());
    {
      const Buffer<char> buffer(size, GetParam());
      const MemoryStats during = memory_stats(GetParam());
      EXPECT_GE(during.bytes_in_use - before.bytes_in_use, size);
      EXPECT_LE(during.bytes_in_use - before.bytes_in_use, size + size / 8 + 64) << size;
      EXPECT_EQ(during.allocations, before.allocations + 1);
      EXPECT_GE(during.peak_bytes, during.bytes_in_use);
    }
    const MemoryStats after = memory_stats(GetParam());
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
    EXPECT_GE(after.peak_bytes, before.bytes_in_use + size);
  }
}

TEST_P(BufferOn, counts_peak_memory) {
  const index_t large = 32 << 20;
  const index_t in_use = memory_stats(GetParam()).bytes_in_use;
  {
    const Buffer<char> first(large, GetParam());
    const Buffer<char> second(large, GetParam());
  }
  const index_t peak = memory_stats(GetParam()).peak_bytes;
  EXPECT_GE(peak, in_use + 2 * large);
  { const Buffer<char> third(large, GetParam()); }
  EXPECT_EQ(memory_stats(GetParam()).peak_bytes, peak);
}

TEST_P(BufferOn, reuses_released_memory) {
  for (const index_t size : {100, 5000, 4'000'000}) {
    const void* first = nullptr;
    {
      const Buffer<char> buffer(size, GetParam());
      first = buffer.data();
    }
    const Buffer<char> again(size, GetParam());
    EXPECT_EQ(again.data(), first) << size;
    const Buffer<char> other(size, GetParam());
    EXPECT_NE(other.data(), first) << size;
  }
}

TEST_P(BufferOn, reuses_memory_of_similar_size) {
  const void* first = nullptr;
  {
    const Buffer<char> buffer(1'000'000, GetParam());
    first = buffer.data();
  }
  const Buffer<char> again(1'000'100, GetParam());
  EXPECT_EQ(again.data(), first);
}

TEST_P(BufferOn, can_be_moved) {
  const index_t in_use = memory_stats(GetParam()).bytes_in_use;
  {
    Buffer<int> a(10, GetParam());
    const int* data = a.data();
    Buffer<int> b = std::move(a);
    EXPECT_EQ(b.data(), data);
    EXPECT_EQ(b.size(), 10);
    EXPECT_EQ(a.data(), nullptr);  // NOLINT: tests the moved-from state
    EXPECT_EQ(a.size(), 0);
    Buffer<int> c(20, GetParam());
    c = std::move(b);
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(c.size(), 10);
    EXPECT_EQ(c.device(), GetParam());
  }
  EXPECT_EQ(memory_stats(GetParam()).bytes_in_use, in_use);
}

TEST_P(BufferOn, refuses_invalid_sizes) {
  const MemoryStats before = memory_stats(GetParam());
  const index_t huge = std::numeric_limits<index_t>::max();
  EXPECT_THROW(Buffer<double>(-1, GetParam()), ArgumentError);
  EXPECT_THROW(Buffer<double>(huge, GetParam()), ArgumentError);
  EXPECT_THROW(Buffer<double>(huge / 8 + 1, GetParam()), ArgumentError);
  EXPECT_THROW(Buffer<char>(std::numeric_limits<index_t>::min(), GetParam()), ArgumentError);
  EXPECT_EQ(memory_stats(GetParam()).allocations, before.allocations);
  EXPECT_EQ(memory_stats(GetParam()).bytes_in_use, before.bytes_in_use);
}

TEST_P(BufferOn, is_allocated_and_released_by_many_threads) {
  const index_t in_use = memory_stats(GetParam()).bytes_in_use;
  const index_t allocations = memory_stats(GetParam()).allocations;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([] {
        for (int i = 0; i < 500; ++i) {
          const Buffer<int> a(1 + i, GetParam());
          Buffer<int> b(1000, GetParam());
          b = Buffer<int>(17, GetParam());
        }
      });
    }
  }
  EXPECT_EQ(memory_stats(GetParam()).bytes_in_use, in_use);
  EXPECT_EQ(memory_stats(GetParam()).allocations, allocations + 4 * 500 * 3);
}

INSTANTIATE_TEST_SUITE_P(All, BufferOn, testing::Values(Device::cpu(), Device::debug()),
                         [](const auto& each) { return to_string(each.param); });

TEST(Buffer, is_empty_by_default) {
  const Buffer<float> buffer;
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0);
  EXPECT_EQ(buffer.device(), Device::cpu());
}

TEST(Buffer, eight_large_ones_have_different_page_offsets) {
  for (const index_t size : {32 << 10, 100'000, 2 << 20, 3'000'000, 32 << 20}) {
    std::vector<Buffer<char>> kept;
    for (int i = 0; i < 8; ++i) kept.emplace_back(size);
    EXPECT_GE(least_page_distance(kept), 512) << size;
    for (const Buffer<char>& each : kept) EXPECT_EQ(address_of(each) % 64, 0U) << size;
  }
}

TEST(Buffer, of_different_sizes_have_different_page_offsets) {
  std::vector<Buffer<char>> kept;
  for (index_t size = 64 << 10; kept.size() < 8; size *= 2) kept.emplace_back(size);
  EXPECT_GE(least_page_distance(kept), 512);
}

TEST(Buffer, has_its_own_page_offset_after_releases) {
  constexpr index_t size = 1 << 20;
  // Blocks released by other threads keep the offsets that those threads chose.
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 12; ++thread) {
      threads.emplace_back([] {
        const Buffer<char> first(size);
        const Buffer<char> second(size);
      });
    }
  }
  for (int temporaries = 0; temporaries < 20; ++temporaries) {
    std::vector<Buffer<char>> kept;
    kept.emplace_back(size);
    for (int i = 0; i < temporaries; ++i) {
      const Buffer<char> temporary(i % 2 == 0 ? size : 3 * size);
      EXPECT_GE(page_distance(kept[0], temporary), 512);
    }
    kept.emplace_back(size);
    kept.emplace_back(2 * size);
    EXPECT_GE(least_page_distance(kept), 512) << temporaries;
  }
}

TEST(Buffer, of_each_thread_have_different_page_offsets) {
  // Thread ranks allocate in step, so that input and output of one rank are not consecutive.
  constexpr int ranks = 8;
  std::barrier turn(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&] {
      std::vector<Buffer<char>> kept;
      for (int i = 0; i < 8; ++i) {
        turn.arrive_and_wait();
        kept.emplace_back(100'000);
      }
      EXPECT_GE(least_page_distance(kept), 512);
    });
  }
}

TEST(Buffer, holds_its_elements_at_any_page_offset) {
  // Sizes that fill a block exactly; sanitizers detect writes beyond it.
  for (const index_t size : {32 << 10, 1 << 20, 2 << 20, 4 << 20}) {
    std::vector<Buffer<char>> kept;
    for (int i = 0; i < 9; ++i) {
      Buffer<char>& buffer = kept.emplace_back(size);
      std::fill_n(buffer.data(), size, static_cast<char>(i));
    }
    for (int i = 0; i < 9; ++i) {
      const char* data = kept[static_cast<std::size_t>(i)].data();
      EXPECT_EQ(std::count(data, data + size, static_cast<char>(i)), size) << size;
    }
    kept.clear();
    trim_memory(Device::cpu());
  }
}

TEST(Buffer, takes_the_device_of_the_assigned_buffer) {
  Buffer<int> buffer(5);
  buffer = Buffer<int>(7, Device::debug());
  EXPECT_EQ(buffer.device(), Device::debug());
  EXPECT_EQ(buffer.size(), 7);
}

TEST(Buffer, throws_without_memory) {
  const MemoryStats before = memory_stats(Device::debug());
  try {
    const Buffer<char> buffer(index_t{1} << 50, Device::debug());
    FAIL() << "a petabyte";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1125899906842624"), std::string::npos) << text;
    EXPECT_NE(text.find("debug"), std::string::npos) << text;
  }
  EXPECT_EQ(memory_stats(Device::debug()).bytes_in_use, before.bytes_in_use);
  const Buffer<char> small(10, Device::debug());
  EXPECT_NE(small.data(), nullptr);
}

TEST(Buffer, memory_is_returned_by_trim) {
  // On the debug device, since host allocators may keep memory.
  constexpr index_t size = 64 << 20;
  {
    Buffer<char> buffer(size, Device::debug());
    touch(buffer);
  }
  const index_t before = resident_bytes();
  const index_t in_use = memory_stats(Device::debug()).bytes_in_use;
  trim_memory(Device::debug());
  EXPECT_LT(resident_bytes(), before - size / 2);
  EXPECT_EQ(memory_stats(Device::debug()).bytes_in_use, in_use);
}

TEST(Buffer, in_use_survives_trim) {
  for (const Device device : {Device::cpu(), Device::debug()}) {
    Buffer<char> kept(100'000, device);
    touch(kept);
    { Buffer<char> released(100'000, device); }
    trim_memory(device);
    trim_memory(device);
    Buffer<char> fresh(100'000, device);
    EXPECT_NE(fresh.data(), kept.data());
    touch(fresh);
    dispatch(device, [&](Cpu) { EXPECT_EQ(kept.data()[512], 1); });
  }
}

}  // namespace weft
