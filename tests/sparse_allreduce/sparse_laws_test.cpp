#include <weft/comm/comm.hpp>
#include <weft/core/buffer.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "support/ranks.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace weft::test {
namespace {

/// Fewer calls where every kernel changes the protection of memory.
int many(int calls) { return message_device().host_accessible() ? calls : (calls + 9) / 10; }

template <class T>
void expect_conservation(const Comm& comm, const SparseOptions& options, index_t n, int steps) {
  SCOPED_TRACE(fmt::format("{} {} n={} density={}", options.algorithm, to_string(options.dtype), n,
                           options.density));
  SparseAllreduce reduce(comm, n, options);
  for (int step = 0; step < steps; ++step) {
    run_checked<T>(comm, reduce, integers(comm.rank(), step, n));
  }
}

TEST(SparseLaws, every_algorithm_conserves_the_gradient) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      for (const index_t n : {1, 5, 400}) {
        for (const double density : {0.02, 0.3}) {
          expect_conservation<float>(comm, summing(algorithm, density), n, many(6));
          expect_conservation<double>(comm, summing(algorithm, density, DType::f64), n, many(3));
        }
      }
    }
  });
}

TEST(SparseLaws, large_tensors_conserve_the_gradient) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      expect_conservation<float>(comm, summing(algorithm, 0.01), 100000, 3);
    }
  });
}

TEST(SparseLaws, rounding_to_16_bits_stays_in_the_residual) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      if (algorithm == "dense") continue;  // rounds as an allreduce does, and keeps no residual
      // Sums of several hundreds have more digits than bf16.
      expect_conservation<BFloat16>(comm, summing(algorithm, 0.1, DType::bf16), 300, many(40));
      expect_conservation<Half>(comm, summing(algorithm, 0.1, DType::f16), 300, many(40));
    }
  });
}

TEST(SparseLaws, density_1_is_dense) {
  on_ranks([](Comm comm) {
    const index_t n = 333;
    for (const std::string& algorithm : sparse_algorithms()) {
      SCOPED_TRACE(algorithm);
      SparseOptions options = summing(algorithm, 1);
      options.selector = algorithm == "dense" ? "" : "exact";
      SparseAllreduce reduce(comm, n, options);
      for (int step = 0; step < 3; ++step) {
        const std::vector<double> gradient = integers(comm.rank(), step, n);
        EXPECT_EQ(run_checked<float>(comm, reduce, gradient), sum_over_ranks(comm, gradient));
        EXPECT_EQ(residual_of(reduce, n, DType::f32), std::vector<double>(n, 0.0));
      }
    }
  });
}

TEST(SparseLaws, averages_are_sums_divided_by_the_ranks) {
  on_ranks([](Comm comm) {
    const index_t n = 500;
    for (const std::string& algorithm : sparse_algorithms()) {
      SCOPED_TRACE(algorithm);
      SparseAllreduce sums(comm, n, summing(algorithm, 0.05));
      SparseOptions options = summing(algorithm, 0.05);
      options.op = ReduceOp::avg;
      SparseAllreduce averages(comm, n, options);
      for (int step = 0; step < 3; ++step) {
        Tensor<float> gradient(elements<float>(integers(comm.rank(), step, n)));
        Tensor<float> sum{std::vector<float>(n)};
        sums.run(gradient.ref(), sum.ref());
        averages.run(gradient.ref(), gradient.ref());  // in place
        std::vector<float> expected = sum.read();
        for (float& x : expected) x /= static_cast<float>(comm.size());
        EXPECT_EQ(gradient.read(), expected);
      }
    }
  });
}

TEST(SparseLaws, pairs_of_run_sparse_are_the_result_of_run) {
  on_ranks([](Comm comm) {
    const index_t n = 500;
    std::vector<SparseOptions> all;
    for (const std::string& algorithm : sparse_algorithms()) {
      for (const auto exchange : {SparseExchange::exact, SparseExchange::slots}) {
        for (const auto partition : {SparsePartition::quantile, SparsePartition::block_cyclic}) {
          all.push_back(summing(algorithm, 0.05));
          all.back().exchange = exchange;
          all.back().oktopk.partition = partition;
          all.back().oktopk.block = 11;
        }
      }
    }
    for (const SparseOptions& options : all) {
      SCOPED_TRACE(options.algorithm);
      SparseAllreduce dense(comm, n, options);
      SparseAllreduce sparse(comm, n, options);
      for (int step = 0; step < 3; ++step) {
        Tensor<float> gradient(elements<float>(integers(comm.rank(), step, n)));
        Tensor<float> out{std::vector<float>(n)};
        dense.run(gradient.ref(), out.ref());
        const SparseResult pairs = sparse.run_sparse(gradient.ref());
        index_t count = -1;
        copy_bytes(&count, Device::cpu(), pairs.count.data, pairs.count.where, sizeof(count));
        ASSERT_LE(count, pairs.indices.count);
        std::vector<std::uint32_t> indices(static_cast<std::size_t>(pairs.indices.count));
        std::vector<float> values(indices.size());
        copy_bytes(indices.data(), Device::cpu(), pairs.indices.data, pairs.indices.where,
                   indices.size() * 4);
        copy_bytes(values.data(), Device::cpu(), pairs.values.data, pairs.values.where,
                   values.size() * 4);
        std::vector<float> filled(n);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          if (i > 0) {
            EXPECT_LT(indices[i - 1], indices[i]);
          }
          filled[indices[i]] = values[i];
        }
        EXPECT_EQ(filled, out.read());
      }
    }
  });
}

/// Sums over many calls, of which only the beginning and the end are compared.
TEST(SparseLaws, ten_thousand_calls_conserve_the_gradient) {
  on_ranks([](Comm comm) {
    if (comm.size() > 3 || !message_device().host_accessible()) return;  // takes long there
    const index_t n = 40;
    for (const std::string& algorithm : sparse_algorithms()) {
      SCOPED_TRACE(algorithm);
      SparseAllreduce reduce(comm, n, summing(algorithm, 0.1, DType::f64));
      std::vector<double> given(n);
      std::vector<double> returned(n);
      const int steps = algorithm == "oktopk" || algorithm == "gtopk" ? 10000 : 1000;
      for (int step = 0; step < steps; ++step) {
        const std::vector<double> gradient = integers(comm.rank(), step, n);
        given = plus(given, gradient);
        Tensor<double> tensor(gradient);
        reduce.run(tensor.ref(), tensor.ref());
        returned = plus(returned, tensor.read());
      }
      const std::vector<double> rest = sum_over_ranks(comm, residual_of(reduce, n, DType::f64));
      EXPECT_EQ(sum_over_ranks(comm, given), plus(returned, rest));
    }
  });
}

TEST(SparseLaws, calls_allocate_no_memory_of_the_device) {
  on_ranks([](Comm comm) {
    const index_t n = 100000;
    for (const std::string& algorithm : sparse_algorithms()) {
      SCOPED_TRACE(algorithm);
      SparseAllreduce reduce(comm, n, summing(algorithm, 0.02));
      Tensor<float> out(elements<float>(integers(comm.rank(), 0, n)));
      const auto run = [&] {
        reduce.reset();  // the same numbers of elements every time
        Tensor<float> in(elements<float>(integers(comm.rank(), 0, n)));
        comm.barrier();
        const index_t before = memory_stats(message_device()).allocations;
        reduce.run(in.ref(), out.ref());
        comm.barrier();
        return memory_stats(message_device()).allocations - before;
      };
      run();
      run();
      EXPECT_EQ(run(), 0);
    }
  });
}

}  // namespace
}  // namespace weft::test
