// The route "fast": kernels that reach into the memory of other ranks. Needs ranks that share a GPU
// and WEFT_DEVICE_COMM=fast; scripts/gpu-check runs it with threads and with processes.

#include <weft/comm/comm.hpp>
#include <weft/comm/fused.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/scalars.hpp>
#include <weft/core/stream.hpp>

#include "comm/epilogue.hpp"
#include "comm/memory_ops.hpp"
#include "comm/support/gpu_values.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <string>
#include <vector>

namespace weft::test {
namespace {

class FastGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (other_device().kind != DeviceKind::cuda || ranks() == 1) {
      GTEST_SKIP() << "needs several ranks and WEFT_TEST_DEVICE=cuda";
    }
    std::atomic<bool> fast = false;
    on_ranks([&](const Comm& comm) { fast = comm.route(other_device()).name == "fast"; });
    if (!fast) GTEST_SKIP() << "needs WEFT_DEVICE_COMM=fast";
  }
};

/// Sizes around those at which the algorithm changes, and others that divide into nothing.
template <class T>
std::vector<std::size_t> counts() {
  std::vector<std::size_t> counts = {0, 1, 2, 3, 5, 17, 1021};
  for (const std::size_t bytes : {std::size_t{32} << 10, std::size_t{512} << 10,
                                  std::size_t{4} << 20, std::size_t{24} << 20}) {
    for (const std::size_t beside : {0, 1, 7}) counts.push_back(bytes / sizeof(T) + beside);
    counts.push_back(bytes / sizeof(T) - 3);
  }
  return counts;
}

template <class T>
void expect_ordered_sums(const Comm& comm) {
  for (const std::size_t count : counts<T>()) {
    SCOPED_TRACE(count);
    const std::vector<T> expected = sum_in_order<T>(comm.size(), count);
    const Buffer<T> in = on_gpu(values_of<T>(comm.rank(), count));
    Buffer<T> out = on_gpu(std::vector<T>(count, T{}));
    comm.allreduce(in, out);
    EXPECT_TRUE(same_bits(on_host(out), expected));
    EXPECT_TRUE(same_bits(on_host(in), values_of<T>(comm.rank(), count))) << "the input changed";
    Buffer<T> data = on_gpu(values_of<T>(comm.rank(), count));
    comm.allreduce(data);
    EXPECT_TRUE(same_bits(on_host(data), expected)) << "in place";
  }
}

TEST_F(FastGpu, sums_are_those_over_the_ranks_in_order) {
  on_ranks([](const Comm& comm) {
    expect_ordered_sums<float>(comm);
    expect_ordered_sums<double>(comm);
    expect_ordered_sums<std::complex<float>>(comm);
    expect_ordered_sums<std::complex<double>>(comm);
    expect_ordered_sums<Half>(comm);
    expect_ordered_sums<BFloat16>(comm);
  });
}

TEST_F(FastGpu, takes_memory_at_any_address) {
  on_ranks([](const Comm& comm) {
    for (const index_t count : {1, 1000, 300'001, 2'000'003}) {
      // A different misalignment on each rank.
      const index_t shift = 1 + comm.rank() % 3;
      const auto mine = values_of<float>(comm.rank(), static_cast<std::size_t>(count));
      Buffer<float> buffer(count + shift + 1, other_device());
      copy_bytes(buffer.data() + shift, other_device(), mine.data(), Device::cpu(),
                 mine.size() * sizeof(float));
      const BufferRef data(buffer.data() + shift, count, other_device());
      comm.allreduce(data);
      std::vector<float> result(mine.size());
      copy_bytes(result.data(), Device::cpu(), buffer.data() + shift, other_device(),
                 result.size() * sizeof(float));
      Stream::current(other_device()).synchronize();
      EXPECT_TRUE(same_bits(result, sum_in_order<float>(comm.size(), mine.size()))) << count;
    }
  });
}

TEST_F(FastGpu, takes_more_elements_than_31_bits_count) {
  if (ranks() > 2) GTEST_SKIP() << "needs 4 GiB for each rank; run with 2";
  on_ranks([](const Comm& comm) {
    const index_t count = (index_t{1} << 31) + 5;
    Buffer<BFloat16> data(count, other_device());
    const std::vector<BFloat16> ones(1 << 20, BFloat16(1.0F));
    const auto begin_of = [&](index_t part) {  // the last part overlaps the one before
      return std::min(part, count - static_cast<index_t>(ones.size()));
    };
    for (index_t i = 0; i < count; i += static_cast<index_t>(ones.size())) {
      copy_bytes(data.data() + begin_of(i), other_device(), ones.data(), Device::cpu(),
                 ones.size() * sizeof(BFloat16));
    }
    comm.allreduce(data);
    const std::vector<BFloat16> expected(ones.size(), BFloat16(static_cast<float>(comm.size())));
    std::vector<BFloat16> part(ones.size());
    for (index_t i = 0; i < count; i += static_cast<index_t>(64 * ones.size())) {
      copy_bytes(part.data(), Device::cpu(), data.data() + begin_of(i), other_device(),
                 part.size() * sizeof(BFloat16));
      EXPECT_TRUE(same_bits(part, expected)) << i;
    }
    copy_bytes(part.data(), Device::cpu(), data.data() + begin_of(count), other_device(),
               part.size() * sizeof(BFloat16));
    EXPECT_TRUE(same_bits(part, expected)) << "at the end";
  });
}

TEST_F(FastGpu, calls_do_not_wait_for_the_gpu) {
  on_ranks([](const Comm& comm) {
    const auto mine = values_of<float>(comm.rank(), 1000);
    Buffer<float> small = on_gpu(mine);
    Buffer<float> large(1 << 20, other_device());
    comm.allreduce(small);
    comm.allreduce(large);
    comm.barrier();
    const index_t before = Stream::host_waits();
    comm.barrier();
    for (int i = 0; i < 50; ++i) {
      comm.allreduce(small);
      comm.allreduce(large);
    }
    comm.barrier();
    EXPECT_EQ(Stream::host_waits(), before);
    comm.barrier();
  });
}

// The next call writes to the input of this one, which peers may not have read yet.
TEST_F(FastGpu, the_input_may_be_overwritten_at_once) {
  on_ranks([](const Comm& comm) {
    for (const std::size_t count : {std::size_t{100}, std::size_t{100'000}, std::size_t{3} << 20}) {
      Buffer<double> in(static_cast<index_t>(count), other_device());
      std::vector<Buffer<double>> out;
      for (int i = 0; i < 20; ++i) {
        out.emplace_back(static_cast<index_t>(count), other_device());
        const std::vector<double> values(count, comm.rank() + i);
        copy_bytes(in.data(), other_device(), values.data(), Device::cpu(), count * sizeof(double));
        comm.allreduce(in, out.back());
      }
      for (int i = 0; i < 20; ++i) {
        const double expected = comm.size() * (comm.size() - 1) / 2.0 + comm.size() * i;
        const auto values = on_host(out[static_cast<std::size_t>(i)]);
        EXPECT_EQ(std::count(values.begin(), values.end(), expected), count) << i;
      }
    }
  });
}

TEST_F(FastGpu, communicators_do_not_disturb_each_other) {
  on_ranks([](const Comm& comm) {
    const Comm other = comm.dup().on(other_device());
    const Comm half = comm.split(comm.rank() % 2, comm.rank()).on(other_device());
    Buffer<double> a = on_gpu(std::vector<double>(1000, 1.0));
    Buffer<double> b = on_gpu(std::vector<double>(1000, 1.0));
    Buffer<double> c = on_gpu(std::vector<double>(1000, 1.0));
    for (int i = 0; i < 10; ++i) {
      comm.allreduce(a, ReduceOp::avg);
      other.allreduce(b, ReduceOp::avg);
      half.allreduce(c, ReduceOp::avg);
    }
    for (const Buffer<double>* each : {&a, &b, &c}) {
      EXPECT_EQ(on_host(*each), std::vector<double>(1000, 1.0));
    }
  });
}

TEST_F(FastGpu, many_calls_in_a_row) {
  on_ranks([](const Comm& comm) {
    Buffer<double> data = on_gpu(std::vector<double>{1.0, 2.0, 3.0});
    for (int i = 0; i < 1'000'000; ++i) comm.allreduce(data, ReduceOp::avg);
    EXPECT_EQ(on_host(data), (std::vector<double>{1, 2, 3}));
  });
}

TEST_F(FastGpu, a_graph_is_launched_many_times) {
  on_ranks([](const Comm& comm) {
    if (!comm.route(other_device()).capturable) GTEST_SKIP() << "processes stage messages";
    // Each launch: all ranks send a different value around; x = sum over the ranks of x / ranks.
    Buffer<double> small = on_gpu(std::vector<double>(10, 1.0 + comm.rank()));
    Buffer<double> large = on_gpu(std::vector<double>(200'000, 1.0 + comm.rank()));
    const double average = (comm.size() + 1) / 2.0;
    comm.allreduce(small, ReduceOp::avg);
    const Graph graph = Graph::capture(other_device(), [&] {
      comm.allreduce(small, ReduceOp::avg);
      comm.allreduce(large, ReduceOp::avg);
    });
    for (int i = 0; i < 10'000; ++i) graph.launch();
    EXPECT_EQ(on_host(small), std::vector<double>(10, average));
    EXPECT_EQ(on_host(large), std::vector<double>(200'000, average));
  });
}

TEST_F(FastGpu, the_first_call_can_be_captured) {
  on_ranks([](const Comm& comm) {
    if (!comm.route(other_device()).capturable) GTEST_SKIP() << "processes stage messages";
    const Comm fresh = comm.dup().on(other_device());
    Buffer<double> data = on_gpu(std::vector<double>(10, 1.0));
    const Graph graph =
        Graph::capture(other_device(), [&] { fresh.allreduce(data, ReduceOp::avg); });
    graph.launch();
    EXPECT_EQ(on_host(data), std::vector<double>(10, 1.0));
  });
}

TEST_F(FastGpu, calls_that_need_memory_cannot_be_captured_at_first) {
  on_ranks([](const Comm& comm) {
    if (!comm.route(other_device()).capturable) GTEST_SKIP() << "processes stage messages";
    Buffer<double> data = on_gpu(std::vector<double>(1000, 1.0 + comm.rank()));
    const auto maximum = [&] { comm.allreduce(data, ReduceOp::max); };
    EXPECT_THROW(Graph::capture(other_device(), maximum), ArgumentError);
    maximum();
    const Graph graph = Graph::capture(other_device(), maximum);
    graph.launch();
    graph.launch();
    EXPECT_EQ(on_host(data), std::vector<double>(1000, comm.size()));
  });
}

// Of two graphs in turn, and with ranks that send or receive nothing.
TEST_F(FastGpu, collectives_are_captured) {
  on_ranks([](const Comm& comm) {
    if (!comm.route(other_device()).capturable) GTEST_SKIP() << "processes stage messages";
    const int size = comm.size();
    std::vector<index_t> counts(static_cast<std::size_t>(size), 2);
    counts.back() = 0;
    const Parts parts(counts);
    const index_t mine = counts[static_cast<std::size_t>(comm.rank())];
    Buffer<double> root = on_gpu(std::vector<double>(10, comm.rank() == 0 ? 5.0 : 0.0));
    Buffer<double> in = on_gpu(std::vector<double>(static_cast<std::size_t>(parts.extent()), 1.0));
    Buffer<double> out(mine, other_device());
    Buffer<double> all(parts.extent(), other_device());
    const auto work = [&] {
      comm.broadcast(root, 0);
      comm.reduce_scatter_v(in, parts, out, ReduceOp::sum);
      comm.all_gather_v(out, all, parts);
    };
    work();
    const Graph first = Graph::capture(other_device(), work);
    const Graph second = Graph::capture(other_device(), work);
    for (int i = 0; i < 10; ++i) {
      first.launch();
      second.launch();
    }
    EXPECT_EQ(on_host(root), std::vector<double>(10, 5.0));
    EXPECT_EQ(on_host(all), std::vector<double>(static_cast<std::size_t>(parts.extent()), size));
  });
}

TEST_F(FastGpu, calls_from_streams_of_the_program_stay_in_order) {
  on_ranks([](const Comm& comm) {
    Buffer<double> data = on_gpu(std::vector<double>(100'000, 1.0));
    const Stream other = Stream::make(other_device());
    double expected = 1;
    for (int i = 0; i < 10; ++i) {
      comm.allreduce(data);
      {
        const StreamScope scope(other_device(), other.handle());
        comm.allreduce(data);
      }
      expected *= comm.size() * comm.size();
    }
    EXPECT_EQ(on_host(data), std::vector<double>(100'000, expected));
  });
}

// In one kernel or in several, results have the same bits.

/// The first of the steps.
template <class T>
Buffer<T> ordered_sum(const Comm& comm, const std::vector<T>& mine) {
  const Buffer<T> in = on_gpu(mine);
  Buffer<T> sum(in.size(), other_device());
  comm.allreduce(in, sum);
  return sum;
}

template <class T>
void expect_scaled_as_in_steps(const Comm& comm) {
  // One of each algorithm
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{4} << 10, std::size_t{256} << 10, std::size_t{4} << 20}) {
    const std::size_t count = bytes / sizeof(T) - 3;
    SCOPED_TRACE(count);
    const auto mine = values_of<T>(comm.rank(), count);
    const Buffer<T> in = on_gpu(mine);
    Buffer<T> out(in.size(), other_device());

    Buffer<T> average = ordered_sum(comm, mine);
    weft::detail::divide(average, comm.size());
    comm.allreduce(in, out, ReduceOp::avg);
    EXPECT_TRUE(same_bits(on_host(out), on_host(average))) << "average";

    Buffer<T> product = ordered_sum(comm, mine);
    weft::detail::apply(weft::detail::Scaling{.factor = 1.0 / 3}, product);
    allreduce_scaled(comm, in, out, 1.0 / 3);
    EXPECT_TRUE(same_bits(on_host(out), on_host(product)));
    EXPECT_TRUE(same_bits(on_host(in), mine)) << "the input changed";

    Buffer<T> data = on_gpu(mine);
    allreduce_scaled(comm, data, data, 1.0 / 3);
    EXPECT_TRUE(same_bits(on_host(data), on_host(product))) << "in place";
  }
}

TEST_F(FastGpu, scales_as_in_steps) {
  on_ranks([](const Comm& comm) {
    expect_scaled_as_in_steps<float>(comm);
    expect_scaled_as_in_steps<double>(comm);
    expect_scaled_as_in_steps<std::complex<float>>(comm);
    expect_scaled_as_in_steps<std::complex<double>>(comm);
    expect_scaled_as_in_steps<Half>(comm);
    expect_scaled_as_in_steps<BFloat16>(comm);
  });
}

template <class T>
void expect_norms_as_in_steps(const Comm& comm, index_t rows, index_t width) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width));
  const auto count = static_cast<std::size_t>(rows * width);
  const auto mine = values_of<T>(comm.rank(), count);
  const Buffer<T> in = on_gpu(mine);
  const Buffer<T> weight = on_gpu(values_of<T>(1, static_cast<std::size_t>(width)));
  const auto before = values_of<T>(2, count);

  Buffer<T> expected = ordered_sum(comm, mine);
  Buffer<T> expected_residual = on_gpu(before);
  weft::detail::apply(
      weft::detail::RowNorm{.residual = expected_residual, .weight = weight, .epsilon = 1e-5},
      expected);

  const RmsNorm norm = {.weight = weight, .epsilon = 1e-5};
  Buffer<T> residual = on_gpu(before);
  Buffer<T> out(in.size(), other_device());
  allreduce_rms_norm(comm, in, residual, out, norm);
  EXPECT_TRUE(same_bits(on_host(out), on_host(expected)));
  EXPECT_TRUE(same_bits(on_host(residual), on_host(expected_residual)));
  EXPECT_TRUE(same_bits(on_host(in), mine)) << "the input changed";

  Buffer<T> data = on_gpu(mine);
  residual = on_gpu(before);
  allreduce_rms_norm(comm, data, residual, data, norm);
  EXPECT_TRUE(same_bits(on_host(data), on_host(expected))) << "in place";
}

template <class T>
void expect_norms_as_in_steps(const Comm& comm) {
  expect_norms_as_in_steps<T>(comm, 1, 1);
  expect_norms_as_in_steps<T>(comm, 5, 7);
  expect_norms_as_in_steps<T>(comm, 1, 4096);
  expect_norms_as_in_steps<T>(comm, 200, 5120);
  expect_norms_as_in_steps<T>(comm, 1000, 1021);  // rows that are not aligned, in chunks
  expect_norms_as_in_steps<T>(comm, 3, 60'000);   // long rows
  expect_norms_as_in_steps<T>(comm, 2, 300'000);  // threads: longer than a slab
}

TEST_F(FastGpu, normalises_as_in_steps) {
  on_ranks([](const Comm& comm) {
    expect_norms_as_in_steps<float>(comm);
    expect_norms_as_in_steps<double>(comm);
    expect_norms_as_in_steps<Half>(comm);
    expect_norms_as_in_steps<BFloat16>(comm);
  });
}

// Kernels with different grids use the same slabs in turn.
TEST_F(FastGpu, epilogues_take_turns_with_other_reductions) {
  on_ranks([](const Comm& comm) {
    const Buffer<float> weight = on_gpu(std::vector<float>(256, 1.0F));
    const RmsNorm norm = {.weight = weight, .epsilon = 0};
    for (int i = 0; i < 200; ++i) {
      const std::size_t size = 256 * (1 + static_cast<std::size_t>(i) % 70);
      Buffer<float> data = on_gpu(std::vector<float>(size, 2.0F));
      Buffer<float> residual = on_gpu(std::vector<float>(size, 0.0F));
      Buffer<float> small = on_gpu(std::vector<float>(100, 1.0F));
      comm.allreduce(small);
      allreduce_rms_norm(comm, data, residual, data, norm);
      allreduce_scaled(comm, residual, residual, 0.5);
      const auto total = static_cast<float>(comm.size());
      EXPECT_EQ(on_host(data), std::vector<float>(size, 1.0F));
      EXPECT_EQ(on_host(residual), std::vector<float>(size, total * total));
      EXPECT_EQ(on_host(small), std::vector<float>(100, total));
    }
  });
}

TEST_F(FastGpu, epilogues_are_captured) {
  on_ranks([](const Comm& comm) {
    if (!comm.route(other_device()).capturable) GTEST_SKIP() << "processes stage messages";
    const Buffer<float> weight = on_gpu(std::vector<float>(100, 1.0F));
    Buffer<float> in = on_gpu(std::vector<float>(1000, 1.0F));
    Buffer<float> residual = on_gpu(std::vector<float>(1000, 0.0F));
    Buffer<float> out(1000, other_device());
    const Graph graph = Graph::capture(other_device(), [&] {
      allreduce_rms_norm(comm, in, residual, out, {.weight = weight, .epsilon = 0});
    });
    for (int i = 0; i < 10; ++i) graph.launch();
    EXPECT_EQ(on_host(residual), std::vector<float>(1000, 10.0F * static_cast<float>(comm.size())));
    EXPECT_EQ(on_host(out), std::vector<float>(1000, 1.0F));
  });
}

// Messages may be started in any order with each other and with collectives.
TEST_F(FastGpu, sends_do_not_wait_for_receives) {
  on_ranks([](const Comm& comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    Buffer<double> out = on_gpu(std::vector<double>(1000, 1.0 + comm.rank()));
    Buffer<double> in(1000, other_device());
    Buffer<double> sum = on_gpu(std::vector<double>(10, 1.0));
    Request send = comm.start_send(out, next);
    comm.allreduce(sum);
    Request recv = comm.start_recv(in, previous);
    send.wait();
    recv.wait();
    EXPECT_EQ(on_host(in), std::vector<double>(1000, 1.0 + previous));
  });
}

}  // namespace
}  // namespace weft::test
