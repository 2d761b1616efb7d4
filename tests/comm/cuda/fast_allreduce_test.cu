// The kernels of fast_allreduce.cuh without communicators: ranks are streams of one thread. Needs a
// GPU.

#include "comm/cuda/fast_allreduce.cuh"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weft::test {
namespace {

void check(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

constexpr std::array algorithms = {fast::Algorithm::ll, fast::Algorithm::push,
                                   fast::Algorithm::relay, fast::Algorithm::pull,
                                   fast::Algorithm::two_shot};
constexpr std::size_t ll_bytes = 16 << 10;
constexpr std::size_t push_bytes = 32 << 10;  // so that larger data goes in chunks

template <class T>
class GpuMemory {
 public:
  explicit GpuMemory(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, std::max<std::size_t>(1, count) * sizeof(T)));
    check(cudaMemset(data_, 0, count * sizeof(T)));
  }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { cudaFree(data_); }

  T* data() const { return data_; }
  void set(const std::vector<T>& values) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

__global__ void delay(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// One rank: its stream, flags, slab and data.
struct Rank {
  Rank(int ranks, std::size_t count)
      : signals(1), slab(fast::slab_bytes(ranks, ll_bytes, push_bytes)), in(count), out(count) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { cudaStreamDestroy(stream); }

  cudaStream_t stream = nullptr;
  GpuMemory<fast::Signals> signals;
  GpuMemory<std::byte> slab;
  GpuMemory<float> in;
  GpuMemory<float> out;
  fast::Team team;
  // Of registered memory
  std::unique_ptr<GpuMemory<fast::RegisteredPart>> table;
  std::unique_ptr<GpuMemory<fast::Places>> places;
};

/// Values whose sum depends on the order of the ranks.
std::vector<float> values_of(int rank, std::size_t count) {
  std::minstd_rand random(static_cast<unsigned>(rank + 1));
  std::vector<float> values(count);
  for (float& value : values) {
    value = (rank % 2 == 0 ? 1e4F : 1e-3F) * (static_cast<float>(random() % 20001) - 1e4F);
  }
  return values;
}

class FastKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (other_device().kind != DeviceKind::cuda) GTEST_SKIP() << "needs WEFT_TEST_DEVICE=cuda";
    check(cudaHostAlloc(&status_, sizeof(*status_), cudaHostAllocDefault));
    *status_ = 0;
  }
  void TearDown() override {
    ranks_.clear();
    if (status_ != nullptr) cudaFreeHost(status_);
  }

  /// Ranks whose last call was `generation`.
  void make_ranks(int ranks, std::size_t count, std::uint32_t generation = 0) {
    ranks_.clear();
    count_ = count;
    expected_.assign(count, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(ranks, count));
      const std::vector<float> values = values_of(rank, count);
      for (std::size_t i = 0; i < count; ++i) {
        expected_[i] = rank == 0 ? values[i] : expected_[i] + values[i];
      }
      ranks_.back()->in.set(values);
      set_generation(*ranks_.back(), generation);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      fast::Team& team = ranks_[rank]->team;
      team.rank = rank;
      team.ranks = ranks;
      team.ll_bytes = ll_bytes;
      team.push_bytes = push_bytes;
      team.status = status_;
      team.timeout_ns = 5'000'000'000;
      team.one_context = one_context_;
      check(fast::can_overlap(team.overlaps));
      for (int peer = 0; peer < ranks; ++peer) {
        team.signals[peer] = ranks_[peer]->signals.data();
        team.slabs[peer] = ranks_[peer]->slab.data();
      }
    }
    finish_copies();
  }
  /// Every rank has registered its memory under numbers of its own.
  void register_memory(bool captured = false) {
    std::vector<fast::RegisteredPart> table(fast::max_ranks * fast::max_registered);
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      Rank& owner = *ranks_[rank];
      const std::uint64_t bytes = count_ * sizeof(float);
      const auto in = static_cast<std::uint32_t>(3 + rank);
      const auto out = static_cast<std::uint32_t>(fast::max_registered - 1 - rank);
      auto* const row = table.data() + rank * fast::max_registered;
      row[in] = {reinterpret_cast<std::byte*>(owner.in.data()), bytes, in};
      // The output begins within the memory.
      row[out] = {reinterpret_cast<std::byte*>(owner.out.data()) - 64, bytes + 64, out};
      owner.team.places = {fast::place_of(in, 0), fast::place_of(out, 64)};
    }
    for (const auto& rank : ranks_) {
      rank->table = std::make_unique<GpuMemory<fast::RegisteredPart>>(table.size());
      rank->table->set(table);
      rank->team.registered = rank->table->data();
      if (!captured) continue;
      rank->places = std::make_unique<GpuMemory<fast::Places>>(1);
      rank->places->set({rank->team.places});
      rank->team.captured_places = rank->places->data();
      rank->team.places = {};
    }
    finish_copies();
  }
  /// Copies from the host may go on when cudaMemcpy returns, and the streams do not wait for them.
  static void finish_copies() { check(cudaDeviceSynchronize()); }
  void launch(fast::Algorithm algorithm, int rank, int blocks) {
    Rank& self = *ranks_[rank];
    check(fast::allreduce<float, fast::Sum>(algorithm, self.team, self.in.data(), self.out.data(),
                                            count_, blocks, self.stream));
  }
  void launch_all(fast::Algorithm algorithm, int blocks) {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      launch(algorithm, rank, blocks);
    }
  }
  void expect_sums(const std::string& what) {
    check(cudaDeviceSynchronize());
    EXPECT_EQ(*status_, 0U) << what;
    for (const auto& rank : ranks_) {
      const std::vector<float> sums = rank->out.get();
      EXPECT_EQ(std::memcmp(sums.data(), expected_.data(), count_ * sizeof(float)), 0) << what;
      rank->out.set(std::vector<float>(count_, -1));
    }
    finish_copies();
  }
  /// Small data for ll, larger data in several chunks for the others.
  static std::size_t count_for(fast::Algorithm algorithm) {
    return algorithm == fast::Algorithm::ll ? 3001 : 40'003;
  }
  static std::string text(fast::Algorithm algorithm, int ranks) {
    return "algorithm " + std::to_string(static_cast<int>(algorithm)) + " among " +
           std::to_string(ranks);
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::uint32_t* status_ = nullptr;
  bool one_context_ = true;
  std::size_t count_ = 0;
  std::vector<float> expected_;

 private:
  static void set_generation(Rank& rank, std::uint32_t generation) {
    auto signals = std::make_unique<fast::Signals>();
    std::fill(std::begin(signals->generation), std::end(signals->generation), generation);
    check(cudaMemcpy(rank.signals.data(), signals.get(), sizeof(*signals), cudaMemcpyHostToDevice));
  }
};

TEST_F(FastKernels, of_all_algorithms_add_in_rank_order) {
  for (const int ranks : {2, 3, 4, 5, 8, 16}) {
    for (const fast::Algorithm algorithm : algorithms) {
      for (const bool one_context : {true, false}) {
        one_context_ = one_context;
        make_ranks(ranks, count_for(algorithm));
        for (const int blocks : {1, 4}) {
          launch_all(algorithm, blocks);
          expect_sums(text(algorithm, ranks));
        }
      }
    }
  }
}

// Flags are compared for equality, and the generation after the largest is 2.
TEST_F(FastKernels, count_calls_beyond_32_bits) {
  for (const fast::Algorithm algorithm : algorithms) {
    make_ranks(3, count_for(algorithm), 0xfffffffaU);
    for (int call = 0; call < 12; ++call) {
      launch_all(algorithm, 1 + call % 3);
      expect_sums(text(algorithm, 3) + ", call " + std::to_string(call));
    }
  }
}

TEST_F(FastKernels, wait_for_ranks_that_are_late) {
  std::minstd_rand random(1);
  for (const fast::Algorithm algorithm : algorithms) {
    make_ranks(4, count_for(algorithm));
    for (int round = 0; round < 20; ++round) {
      for (int call = 0; call < 5; ++call) {
        for (int rank = 0; rank < 4; ++rank) {
          delay<<<1, 1, 0, ranks_[rank]->stream>>>(random() % 4 == 0 ? random() % 100'000 : 0);
          launch(algorithm, rank, 4);
        }
      }
      expect_sums(text(algorithm, 4));
    }
  }
}

TEST_F(FastKernels, of_different_algorithms_follow_each_other) {
  make_ranks(3, 3001);
  std::minstd_rand random(2);
  for (int call = 0; call < 500; ++call) {
    launch_all(algorithms[random() % algorithms.size()], 1 + static_cast<int>(random() % 6));
  }
  expect_sums("mixed");
}

TEST_F(FastKernels, find_registered_memory_of_all_ranks) {
  for (const int ranks : {2, 3, 4, 8, 16}) {
    for (const fast::Algorithm algorithm : {fast::Algorithm::pull, fast::Algorithm::two_shot}) {
      for (const bool captured : {false, true}) {
        make_ranks(ranks, 40'003);
        register_memory(captured);
        for (const int blocks : {1, 4}) {
          launch_all(algorithm, blocks);
          expect_sums(text(algorithm, ranks));
        }
      }
    }
  }
}

TEST_F(FastKernels, with_registered_memory_take_turns_with_others) {
  make_ranks(3, 3001, 0xfffffff0U);
  std::minstd_rand random(3);
  for (int call = 0; call < 500; ++call) {
    if (random() % 2 == 0) {
      register_memory();
      launch_all(fast::Algorithm::two_shot, 1 + static_cast<int>(random() % 6));
      for (const auto& rank : ranks_) rank->team.registered = nullptr;
    } else {
      launch_all(algorithms[random() % algorithms.size()], 1 + static_cast<int>(random() % 6));
    }
    if (call % 20 == 0) expect_sums("mixed");
  }
}

// Places that are wrong on one rank; none of the kernels may use them.
TEST_F(FastKernels, end_when_memory_is_not_registered) {
  const std::vector<std::uint64_t> wrong = {
      fast::place_of(4, 4),                       // one element too many
      fast::place_of(4, std::uint64_t{1} << 39),  // far beyond
      fast::place_of(500, 0),                     // no such number
      fast::place_of(fast::max_registered, 0),
      fast::place_of(4 + fast::max_registered, 0)};  // another registration at the same index
  for (const std::uint64_t place : wrong) {
    make_ranks(2, 1000);
    register_memory();
    ranks_[1]->team.places.in = place;
    *status_ = 0;
    launch_all(fast::Algorithm::two_shot, 2);
    check(cudaDeviceSynchronize());
    EXPECT_EQ(*status_, static_cast<std::uint32_t>(fast::Status::not_registered)) << place;
    for (const auto& rank : ranks_) EXPECT_EQ(rank->out.get(), std::vector<float>(count_));
  }
}

// Neither takes the signals of the other for its own.
TEST_F(FastKernels, end_when_only_some_ranks_have_registered_memory) {
  for (const fast::Algorithm other : algorithms) {
    for (const int rank : {0, 1, 2}) {
      make_ranks(3, 1000);
      register_memory();
      for (const auto& each : ranks_) each->team.timeout_ns = 60'000'000'000;
      ranks_[rank]->team.registered = nullptr;
      *status_ = 0;
      for (int each = 0; each < 3; ++each) {
        launch(each == rank ? other : fast::Algorithm::two_shot, each, 2);
      }
      check(cudaDeviceSynchronize());
      EXPECT_EQ(*status_, static_cast<std::uint32_t>(fast::Status::not_registered))
          << text(other, 3) << ", rank " << rank;
      for (int each = 0; each < 3; ++each) {  // ll stores while it waits
        if (each == rank && other == fast::Algorithm::ll) continue;
        EXPECT_EQ(ranks_[each]->out.get(), std::vector<float>(count_)) << text(other, 3);
      }
    }
  }
}

TEST_F(FastKernels, end_when_a_rank_does_not_come) {
  for (const fast::Algorithm algorithm : algorithms) {
    make_ranks(2, 1000);
    ranks_[0]->team.timeout_ns = 50'000'000;
    *status_ = 0;
    launch(algorithm, 0, 2);
    check(cudaDeviceSynchronize());
    EXPECT_EQ(*status_, static_cast<std::uint32_t>(fast::Status::timed_out));
  }
}

TEST_F(FastKernels, end_when_the_host_aborts) {
  for (const fast::Algorithm algorithm : algorithms) {
    make_ranks(2, 1000);
    *status_ = 0;
    launch(algorithm, 0, 2);
    *static_cast<volatile std::uint32_t*>(status_) =
        static_cast<std::uint32_t>(fast::Status::aborted);
    check(cudaDeviceSynchronize());
    EXPECT_EQ(*status_, static_cast<std::uint32_t>(fast::Status::aborted));
  }
}

}  // namespace
}  // namespace weft::test
