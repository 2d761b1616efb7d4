// Registered memory among processes on the route "fast", whose kernels then access the memory of
// other ranks where it is. Needs processes that share a GPU; scripts/gpu-check starts them.

#include <weft/comm/comm.hpp>
#include <weft/comm/fused.hpp>
#include <weft/comm/registered_memory.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/comm_state.hpp"
#include "comm/support/gpu_values.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

using weft::detail::AllreduceAlgorithm;
using weft::detail::AllreduceLimit;
using weft::detail::AllreducePlace;
using weft::detail::AllreduceTable;
using weft::detail::CommAccess;
using weft::detail::ReduceOrder;

class FastRegistered : public testing::Test {
 protected:
  void SetUp() override {
    if (other_device().kind != DeviceKind::cuda || ranks() == 1 || world() != World::mpi) {
      GTEST_SKIP() << "needs several processes and WEFT_TEST_DEVICE=cuda";
    }
    std::atomic<bool> fast = false;
    on_ranks([&](const Comm& comm) { fast = comm.route(other_device()).name == "fast"; });
    if (!fast) GTEST_SKIP() << "needs WEFT_DEVICE_COMM=fast";
  }
};

/// With the GPU as the device of the communicator.
template <class Body>
void on_gpu_ranks(Body body) {
  on_ranks([&](const Comm& comm) { body(comm.on(other_device())); });
}

/// Memory as programs allocate it without Weft.
class CudaMemory {
 public:
  explicit CudaMemory(std::size_t bytes) { EXPECT_EQ(cudaMalloc(&data_, bytes), cudaSuccess); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory() { cudaFree(data_); }

  template <class T>
  BufferRef part(std::size_t first, std::size_t count) const {
    return {static_cast<T*>(data_) + first, static_cast<index_t>(count), other_device()};
  }

 private:
  void* data_ = nullptr;
};

template <class T>
void set(BufferRef to, const std::vector<T>& values) {
  copy_bytes(to.data, other_device(), values.data(), Device::cpu(), values.size() * sizeof(T));
}
template <class T>
std::vector<T> get(ConstBufferRef from) {
  std::vector<T> values(static_cast<std::size_t>(from.count));
  copy_bytes(values.data(), Device::cpu(), from.data, other_device(), values.size() * sizeof(T));
  Stream::current(other_device()).synchronize();
  return values;
}

/// From now on, calls on registered memory use it whatever their size.
void use_registered_memory_always(const Comm& comm) {
  const AllreduceLimit always = {AllreducePlace::gpu_process, 1, AllreduceLimit::unlimited,
                                 AllreduceAlgorithm::two_shot};
  CommAccess::state(comm)->gpu_transport->use_table(
      std::make_shared<AllreduceTable>(std::vector{always}, ReduceOrder::by_rank));
}

/// Out of place and in place, with every rank's data at another offset.
template <class T>
void expect_ordered_sums(const Comm& comm, std::size_t count) {
  SCOPED_TRACE(count);
  const std::size_t shift = 1 + static_cast<std::size_t>(comm.rank()) % 3;
  const RegisteredMemory memory =
      RegisteredMemory::allocate(comm, static_cast<index_t>((2 * count + 7) * sizeof(T)));
  ASSERT_TRUE(memory.is_direct()) << memory.obstacle();
  const auto whole = memory.as<T>();
  const BufferRef in = whole.part(static_cast<index_t>(shift), static_cast<index_t>(count));
  const BufferRef out = whole.part(static_cast<index_t>(count + 4), static_cast<index_t>(count));
  const std::vector<T> mine = values_of<T>(comm.rank(), count);
  const std::vector<T> expected = sum_in_order<T>(comm.size(), count);
  set(in, mine);
  comm.allreduce(in, out);
  EXPECT_TRUE(same_bits(get<T>(out), expected));
  EXPECT_TRUE(same_bits(get<T>(in), mine)) << "the input changed";
  comm.allreduce(in);
  EXPECT_TRUE(same_bits(get<T>(in), expected)) << "in place";
}

template <class T>
void expect_ordered_sums(const Comm& comm) {
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{512} << 10, std::size_t{1} << 20, std::size_t{24} << 20}) {
    for (const std::size_t beside : {0, 1, 7}) {
      expect_ordered_sums<T>(comm, bytes / sizeof(T) + beside);
    }
  }
  for (const std::size_t count : {16, 17, 1021}) expect_ordered_sums<T>(comm, count);
}

TEST_F(FastRegistered, sums_are_those_over_the_ranks_in_order) {
  on_gpu_ranks([](const Comm& comm) {
    for (const bool always : {false, true}) {
      if (always) use_registered_memory_always(comm);
      expect_ordered_sums<float>(comm);
      expect_ordered_sums<double>(comm);
      expect_ordered_sums<std::complex<float>>(comm);
      expect_ordered_sums<Half>(comm);
      expect_ordered_sums<BFloat16>(comm);
    }
    expect_ordered_sums<float>(comm, std::size_t{16} << 20);
  });
}

TEST_F(FastRegistered, small_calls_may_be_empty) {
  on_gpu_ranks([](const Comm& comm) {
    use_registered_memory_always(comm);
    const RegisteredMemory memory = RegisteredMemory::allocate(comm, 4096);
    ASSERT_TRUE(memory.is_direct()) << memory.obstacle();
    const BufferRef all = memory.as<double>();
    set(all, std::vector<double>(512, 1.0));
    comm.allreduce(all.part(0, 0));
    comm.allreduce(all.part(511, 1));
    std::vector<double> expected(512, 1.0);
    expected[511] = comm.size();
    EXPECT_EQ(get<double>(all), expected);
  });
}

// The kernel of registered memory reads and writes that of other ranks: an output elsewhere in the
// memory of a peer would be seen. So all that is around the output must be unchanged.
TEST_F(FastRegistered, only_the_output_is_written) {
  on_gpu_ranks([](const Comm& comm) {
    use_registered_memory_always(comm);
    const index_t count = 100'003;
    const RegisteredMemory memory = RegisteredMemory::allocate(comm, 3 * count * 8);
    ASSERT_TRUE(memory.is_direct()) << memory.obstacle();
    const BufferRef all = memory.as<double>();
    set(all, std::vector<double>(static_cast<std::size_t>(3 * count), 1.0 + comm.rank()));
    const index_t first = count - comm.rank();
    comm.allreduce(all.part(0, count - comm.size()), all.part(first, count - comm.size()));
    std::vector<double> expected(static_cast<std::size_t>(3 * count), 1.0 + comm.rank());
    std::fill_n(expected.begin() + first, count - comm.size(),
                comm.size() * (comm.size() + 1) / 2.0);
    EXPECT_EQ(get<double>(all), expected);
  });
}

TEST_F(FastRegistered, memory_of_the_program_is_registered_as_it_is) {
  on_gpu_ranks([](const Comm& comm) {
    const std::size_t count = 1'000'000;
    const CudaMemory memory(2 * count * sizeof(float));
    const auto mine = values_of<float>(comm.rank(), count);
    set(memory.part<float>(0, count), mine);
    // Not at the begin of the allocation, and different parts on the ranks
    const std::size_t shift = static_cast<std::size_t>(comm.rank()) * 100;
    const RegisteredMemory in(comm, memory.part<float>(0, count));
    const RegisteredMemory out(comm, memory.part<float>(count + shift, count - 1000));
    ASSERT_TRUE(in.is_direct()) << in.obstacle();
    ASSERT_TRUE(out.is_direct()) << out.obstacle();
    EXPECT_TRUE(same_bits(get<float>(in.memory()), mine)) << "registration changed the memory";
    comm.allreduce(in.memory().part(0, out.memory().count), out.memory());
    auto expected = sum_in_order<float>(comm.size(), count);
    expected.resize(count - 1000);
    EXPECT_TRUE(same_bits(get<float>(out.memory()), expected));
  });
}

TEST_F(FastRegistered, ranks_may_pass_different_registrations) {
  on_gpu_ranks([](const Comm& comm) {
    const index_t count = 300'000;
    std::vector<RegisteredMemory> memory;
    for (int i = 0; i < 3; ++i) {
      memory.push_back(RegisteredMemory::allocate(comm, (count + 100 * comm.rank()) * 8));
      ASSERT_TRUE(memory.back().is_direct()) << memory.back().obstacle();
    }
    const auto pick = [&](int which) {
      return memory[static_cast<std::size_t>((which + comm.rank()) % 3)].as<double>().part(0,
                                                                                           count);
    };
    const auto mine = values_of<double>(comm.rank(), static_cast<std::size_t>(count));
    set(pick(0), mine);
    comm.allreduce(pick(0), pick(1));
    EXPECT_TRUE(same_bits(get<double>(pick(1)),
                          sum_in_order<double>(comm.size(), static_cast<std::size_t>(count))));
  });
}

TEST_F(FastRegistered, registrations_end_and_begin_again) {
  on_gpu_ranks([](const Comm& comm) {
    use_registered_memory_always(comm);
    for (int i = 0; i < 50; ++i) {
      const CudaMemory program(1 << 16);
      const RegisteredMemory passed(comm, program.part<double>(0, 1000));
      const RegisteredMemory made = RegisteredMemory::allocate(comm, 8 * (1000 + i));
      ASSERT_TRUE(passed.is_direct()) << passed.obstacle();
      set(passed.memory(), std::vector<double>(1000, comm.rank() + i));
      comm.allreduce(passed.memory(), made.as<double>().part(i, 1000));
      const double expected = comm.size() * (comm.size() - 1) / 2.0 + comm.size() * i;
      ASSERT_EQ(get<double>(made.as<double>().part(i, 1000)), std::vector<double>(1000, expected));
    }
    // Other memory afterwards
    Buffer<double> data = on_gpu(std::vector<double>(200'000, 1.0));
    comm.allreduce(data);
    EXPECT_EQ(on_host(data), std::vector<double>(200'000, comm.size()));
  });
}

// Kernels of registered memory and others use the same generations in turn.
TEST_F(FastRegistered, calls_take_turns_with_others) {
  on_gpu_ranks([](const Comm& comm) {
    use_registered_memory_always(comm);
    const RegisteredMemory memory = RegisteredMemory::allocate(comm, 8 * 100'000);
    Buffer<double> other = on_gpu(std::vector<double>(100'000, 1.0));
    set(memory.as<double>(), std::vector<double>(100'000, 1.0));
    for (int i = 0; i < 300; ++i) {
      const index_t count = 1 + i * 331;
      comm.allreduce(memory.as<double>().part(0, count), ReduceOp::avg);
      comm.allreduce(BufferRef(other.data(), 1 + i % 7 * 10'000, other_device()), ReduceOp::avg);
      if (i % 3 == 0) comm.allreduce(memory.as<double>().part(0, count), ReduceOp::avg);
      allreduce_scaled(comm, memory.as<double>().part(0, count), memory.as<double>().part(0, count),
                       1.0 / comm.size());
    }
    EXPECT_EQ(get<double>(memory.as<double>()), std::vector<double>(100'000, 1.0));
    EXPECT_EQ(on_host(other), std::vector<double>(100'000, 1.0));
  });
}

TEST_F(FastRegistered, memory_that_one_rank_cannot_export_is_copied) {
  on_gpu_ranks([](const Comm& comm) {
    const std::size_t count = 500'000;
    Buffer<float> pooled(static_cast<index_t>(count), other_device());
    const CudaMemory program(count * sizeof(float));
    const BufferRef data = comm.rank() == 1 ? BufferRef(pooled) : program.part<float>(0, count);
    const RegisteredMemory memory(comm, data);
    EXPECT_FALSE(memory.is_direct());
    EXPECT_NE(memory.obstacle().find("rank 1: the memory cannot be exported"), std::string::npos)
        << memory.obstacle();
    set(data, values_of<float>(comm.rank(), count));
    comm.allreduce(data);
    EXPECT_TRUE(same_bits(get<float>(data), sum_in_order<float>(comm.size(), count)));
  });
}

template <class Call>
std::string agreed_error(Call call) {
  try {
    call();
  } catch (const AgreedError& error) {
    return error.what();
  }
  return "none";
}

TEST_F(FastRegistered, memory_that_is_none_is_an_error_on_all_ranks) {
  on_gpu_ranks([](const Comm& comm) {
    const CudaMemory memory(1 << 20);
    std::vector<double> on_host(1000);
    const BufferRef host(on_host.data(), 1000, other_device());
    const auto error_with = [&](BufferRef of_rank_1) {
      return agreed_error([&] {
        const RegisteredMemory tried(comm,
                                     comm.rank() == 1 ? of_rank_1 : memory.part<double>(0, 1000));
      });
    };
    const std::string wrong = error_with(host);
    EXPECT_NE(wrong.find("rank 1: the memory is not on a GPU"), std::string::npos) << wrong;
    const std::string beyond = error_with(memory.part<double>(0, std::size_t{1} << 30));
    EXPECT_NE(beyond.find("rank 1: the memory extends beyond its allocation"), std::string::npos)
        << beyond;
    std::string freed;
    {
      void* gone = nullptr;
      ASSERT_EQ(cudaMalloc(&gone, 64 << 20), cudaSuccess);
      ASSERT_EQ(cudaFree(gone), cudaSuccess);
      freed = error_with(BufferRef(static_cast<double*>(gone), 1000, other_device()));
    }
    EXPECT_NE(freed.find("rank 1: the memory is not on a GPU, or has been freed"),
              std::string::npos)
        << freed;
    const RegisteredMemory right(comm, memory.part<double>(0, 1000));
    EXPECT_TRUE(right.is_direct()) << right.obstacle();
  });
}

TEST_F(FastRegistered, a_full_table_is_an_error_on_all_ranks) {
  on_ranks([](const Comm& world) {
    const Comm comm = world.dup().on(other_device());
    use_registered_memory_always(comm);
    const CudaMemory memory(1 << 16);
    std::vector<RegisteredMemory> all;
    const std::string error = agreed_error([&] {
      for (int i = 0; i < 1100; ++i) all.emplace_back(comm, memory.part<double>(0, 1000));
    });
    EXPECT_EQ(all.size(), 1024U);
    EXPECT_NE(error.find("rank 0: there is no room for more registered memory"), std::string::npos)
        << error;
    all.pop_back();
    all.emplace_back(comm, memory.part<double>(0, 1000));
    set(memory.part<double>(0, 1000), std::vector<double>(1000, 1.0));
    comm.allreduce(memory.part<double>(0, 1000));
    EXPECT_EQ(get<double>(memory.part<double>(0, 1000)), std::vector<double>(1000, comm.size()));
    while (!all.empty()) all.pop_back();
  });
}

// Memory that was met in a capture

TEST_F(FastRegistered, captured_memory_is_registered_when_the_capture_ends) {
  on_gpu_ranks([](const Comm& comm) {
    const std::size_t count = 300'000;
    // One allocation on rank 0, two on the others
    const CudaMemory first(2 * count * sizeof(double));
    const CudaMemory second(count * sizeof(double));
    const BufferRef in = first.part<double>(0, count);
    const BufferRef out =
        comm.rank() == 0 ? first.part<double>(count, count) : second.part<double>(0, count);
    set(in, values_of<double>(comm.rank(), count));
    for (int round = 0; round < 2; ++round) {  // the second time, the memory is known
      const Graph graph = Graph::capture(other_device(), [&] {
        comm.allreduce(in, out);
        comm.allreduce(out, ReduceOp::avg);
        comm.allreduce(out, ReduceOp::avg);
      });
      for (int i = 0; i < 100; ++i) graph.launch();
      auto expected = sum_in_order<double>(comm.size(), count);
      for (int average = 0; average < 2; ++average) {
        for (double& value : expected) {
          double sum = value;
          for (int rank = 1; rank < comm.size(); ++rank) sum += value;
          value = sum / comm.size();
        }
      }
      EXPECT_TRUE(same_bits(get<double>(out), expected));
    }
  });
}

TEST_F(FastRegistered, captured_calls_may_have_registered_memory) {
  on_gpu_ranks([](const Comm& comm) {
    const index_t count = 300'000;
    const RegisteredMemory memory = RegisteredMemory::allocate(comm, count * 8);
    const CudaMemory program(static_cast<std::size_t>(count) * 8);
    // Some ranks with memory that was registered before, some with other
    const BufferRef data = comm.rank() == 0
                               ? memory.as<double>()
                               : program.part<double>(0, static_cast<std::size_t>(count));
    set(data, std::vector<double>(static_cast<std::size_t>(count), 1.0 + comm.rank()));
    const Graph graph =
        Graph::capture(other_device(), [&] { comm.allreduce(data, ReduceOp::avg); });
    for (int i = 0; i < 10; ++i) graph.launch();
    EXPECT_EQ(get<double>(data),
              std::vector<double>(static_cast<std::size_t>(count), (comm.size() + 1) / 2.0));
  });
}

TEST_F(FastRegistered, captured_memory_that_cannot_be_exported_is_copied) {
  on_gpu_ranks([](const Comm& comm) {
    Buffer<double> data = on_gpu(std::vector<double>(300'000, 1.0 + comm.rank()));
    const Graph graph =
        Graph::capture(other_device(), [&] { comm.allreduce(data, ReduceOp::avg); });
    for (int i = 0; i < 10; ++i) graph.launch();
    EXPECT_EQ(on_host(data), std::vector<double>(300'000, (comm.size() + 1) / 2.0));
  });
}

TEST_F(FastRegistered, different_captures_are_an_error_on_all_ranks) {
  on_gpu_ranks([](const Comm& comm) {
    const CudaMemory program(8 * 300'000);
    Buffer<double> pooled(300'000, other_device());
    const BufferRef data = comm.rank() == 1 ? BufferRef(pooled) : program.part<double>(0, 300'000);
    const std::string error =
        agreed_error([&] { Graph::capture(other_device(), [&] { comm.allreduce(data); }); });
    EXPECT_NE(error.find("rank 0 has 1 large ones, of which 1 on memory that other processes can "
                         "map, rank 1 has 1 and 0"),
              std::string::npos)
        << error;
    if (comm.checks_calls()) return;  // which would find them before
    // Different numbers of calls
    const std::string number = agreed_error([&] {
      Graph::capture(other_device(), [&] {
        for (int i = 0; i <= (comm.rank() == 1 ? 1 : 0); ++i) {
          comm.allreduce(program.part<double>(0, 300'000));
        }
      });
    });
    EXPECT_NE(number.find("rank 1 has 2 and 2"), std::string::npos) << number;
    Buffer<double> after = on_gpu(std::vector<double>(10, 1.0));
    comm.allreduce(after);
    EXPECT_EQ(on_host(after), std::vector<double>(10, comm.size()));
  });
}

TEST_F(FastRegistered, too_many_captured_calls_are_an_error_on_all_ranks) {
  on_ranks([](const Comm& world) {
    const Comm comm = world.dup().on(other_device());
    const CudaMemory program(8 * 200'000);
    const auto capture = [&](int calls) {
      Graph::capture(other_device(), [&] {
        for (int i = 0; i < calls; ++i) comm.allreduce(program.part<double>(0, 200'000));
      });
    };
    const std::string error = agreed_error([&] { capture(16385); });
    EXPECT_NE(error.find("there is no room for more captured allreduces"), std::string::npos)
        << error;
    EXPECT_EQ(agreed_error([&] { capture(100); }), "none");
  });
}

}  // namespace
}  // namespace weft::test
