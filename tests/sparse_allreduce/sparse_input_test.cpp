#include <weft/comm/comm.hpp>
#include <weft/comm/launch.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/graph.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "support/disagreement.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace weft::test {
namespace {

constexpr index_t n = 100;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(SparseInput, wrong_options_are_errors_on_all_ranks) {
  on_ranks([](Comm comm) {
    const auto refuses = [&](const std::vector<std::string>& words,
                             const std::function<void(SparseOptions&)>& change) {
      SparseOptions options = summing("oktopk", 0.1);
      change(options);
      expect_error<AgreedError>(comm, words, [&] { SparseAllreduce(comm, n, options); });
    };
    for (const double density :
         {0.0, -1.0, 1.5, static_cast<double>(nan), static_cast<double>(inf)}) {
      refuses({"density"}, [=](SparseOptions& o) { o.density = density; });
    }
    refuses({"'okto'", "gtopk", "oktopk"}, [](SparseOptions& o) { o.algorithm = "okto"; });
    refuses({"'best'", "exact"}, [](SparseOptions& o) { o.selector = "best"; });
    refuses({"i32"}, [](SparseOptions& o) { o.dtype = DType::i32; });
    refuses({"max"}, [](SparseOptions& o) { o.op = ReduceOp::max; });
    refuses({"capacity", "-1"}, [](SparseOptions& o) { o.capacity = -1; });
    refuses({"check_every", "-1"}, [](SparseOptions& o) { o.check_every = -1; });
    refuses({"decay"}, [](SparseOptions& o) { o.decay = 2; });
    refuses({"dense_calls"}, [](SparseOptions& o) { o.dense_calls = -1; });
    refuses({"index_bits"}, [](SparseOptions& o) { o.index_bits = 16; });
    refuses({"periods"}, [](SparseOptions& o) { o.oktopk.global_period = 0; });
    expect_error<AgreedError>(comm, {"n is 0"},
                              [&] { SparseAllreduce(comm, 0, summing("topk", 0.1)); });
    for (const index_t huge : {index_t{1} << 50, index_t{1} << 61}) {
      expect_error<AgreedError>(comm, {"n is", std::to_string(huge)},
                                [&] { SparseAllreduce(comm, huge, summing("topk", 0.1)); });
    }
    expect_error(comm, {"density"},
                 [&] { SparseAllreduce::workspace_bytes(2, n, summing("topk", 0)); });
  });
}

TEST(SparseInput, options_that_differ_between_ranks_are_errors_on_all_ranks) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const bool differs = comm.rank() == 1;
    expect_disagreement(comm, {"100", "101"},
                        [&] { SparseAllreduce(comm, differs ? n + 1 : n, summing("topkA", 0.1)); });
    expect_disagreement(comm, {"topkA", "gtopk"}, [&] {
      SparseAllreduce(comm, n, summing(differs ? "gtopk" : "topkA", 0.1));
    });
    SparseAllreduce reduce(comm, n, summing("topkA", 0.1));
    expect_disagreement(comm, {"0.2", "0.3"}, [&] { reduce.set_density(differs ? 0.2 : 0.3); });
    EXPECT_EQ(reduce.density(), 0.1);
  });
}

TEST(SparseInput, wrong_tensors_on_one_rank_are_errors_on_all_ranks) {
  on_ranks([](Comm comm) {
    SparseAllreduce reduce(comm, n, summing("oktopk", 0.1));
    run_checked<float>(comm, reduce, integers(comm.rank(), 0, n));
    const std::vector<std::byte> before = reduce.save();
    Tensor<float> good{std::vector<float>(2 * n)};
    Tensor<double> wide{std::vector<double>(n)};
    const BufferRef gradient = good.ref().part(0, n);
    const BufferRef result = good.ref().part(n, n);
    const auto refuses = [&](const std::vector<std::string>& words, BufferRef in, BufferRef out) {
      const bool wrong = comm.rank() == comm.size() - 1;
      expect_error<AgreedError>(comm, words,
                                [&] { reduce.run(wrong ? in : gradient, wrong ? out : result); });
      EXPECT_EQ(reduce.save(), before);
    };
    refuses({"gradient", "99"}, good.ref().part(0, n - 1), result);
    refuses({"result", "f64"}, gradient, wide.ref());
    refuses({"overlap"}, gradient, good.ref().part(1, n));
  });
}

TEST(SparseInput, no_rank_applies_a_gradient_that_is_not_finite) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      if (algorithm == "dense") continue;  // passes them on, as an allreduce does
      for (const float bad : {nan, inf, -inf}) {
        SCOPED_TRACE(algorithm);
        SparseAllreduce reduce(comm, n, summing(algorithm, 0.1));
        run_checked<float>(comm, reduce, integers(comm.rank(), 0, n));
        std::vector<double> expected = residual_of(reduce, n, DType::f32);
        std::vector<float> gradient = elements<float>(integers(comm.rank(), 1, n));
        for (index_t i = 0; i < n; ++i) {
          if (comm.rank() == comm.size() - 1 && (i == 17 || i == 40)) gradient[i] = bad;
          if (std::isfinite(gradient[i])) expected[i] += static_cast<double>(gradient[i]);
        }
        Tensor<float> in(gradient);
        Tensor<float> out{std::vector<float>(n, 7)};
        expect_error<AgreedError>(
            comm, {"element 17", "rank " + std::to_string(comm.size() - 1), "not finite"},
            [&] { reduce.run(in.ref(), out.ref()); });
        EXPECT_EQ(out.read(), std::vector<float>(n, 7));
        EXPECT_EQ(residual_of(reduce, n, DType::f32), expected);
        EXPECT_EQ(reduce.report().dropped, comm.rank() == comm.size() - 1 ? 2 : 0);
        run_checked<float>(comm, reduce, integers(comm.rank(), 2, n));
      }
    }
  });
}

TEST(SparseInput, calls_that_read_counts_cannot_be_captured) {
  if (message_device().kind != DeviceKind::cuda) GTEST_SKIP() << "needs messages on a GPU";
  on_ranks([](Comm comm) {
    SparseAllreduce reduce(comm, n, summing("oktopk", 0.1));
    Tensor<float> data(elements<float>(integers(comm.rank(), 0, n)));
    const std::vector<std::byte> before = reduce.save();
    expect_error<AgreedError>(comm, {"oktopk", "captured"}, [&] {
      Graph::capture(message_device(), [&] { reduce.run(data.ref(), data.ref()); });
    });
    EXPECT_EQ(reduce.save(), before);
  });
}

/// All elements are the same, or there are none to speak of.
TEST(SparseInput, degenerate_gradients_neither_hang_nor_lose_anything) {
  on_ranks([](Comm comm) {
    const double tiny = 0x1p-140;  // a denormal
    const std::vector<std::function<double(index_t)>> kinds = {
        [](index_t) { return 0.0; },
        [](index_t) { return -0.0; },
        [](index_t) { return 3.0; },
        [=](index_t i) { return tiny * static_cast<double>(i % 5); },
        [](index_t i) { return i < 20 ? 5.0 + static_cast<double>(i) : 0.0; },  // one region
        [&](index_t i) { return comm.rank() == 0 ? static_cast<double>(i) : 0.0; },
    };
    for (const std::string& algorithm : sparse_algorithms()) {
      for (std::size_t kind = 0; kind < 2 * kinds.size(); ++kind) {
        SCOPED_TRACE(algorithm + " " + std::to_string(kind));
        SparseOptions options = summing(algorithm, 0.1);
        if (kind >= kinds.size()) options.exchange = SparseExchange::slots;
        SparseAllreduce reduce(comm, n, options);
        for (int step = 0; step < 5; ++step) {
          std::vector<double> gradient;
          for (index_t i = 0; i < n; ++i) gradient.push_back(kinds[kind % kinds.size()](i));
          run_checked<float>(comm, reduce, gradient);
          reduce.set_density(step % 2 == 0 ? 0.4 : 0.02);
        }
      }
    }
  });
}

TEST(SparseInput, wide_indices_change_nothing) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        SparseOptions options = summing(algorithm, 0.1, dtype);
        SparseAllreduce narrow(comm, n, options);
        options.index_bits = 64;
        SparseAllreduce wide(comm, n, options);
        for (int step = 0; step < 2; ++step) {
          const std::vector<double> gradient = integers(comm.rank(), step, n);
          if (dtype == DType::f32) {
            EXPECT_EQ(run_checked<float>(comm, narrow, gradient),
                      run_checked<float>(comm, wide, gradient));
          } else {
            EXPECT_EQ(run_checked<double>(comm, narrow, gradient),
                      run_checked<double>(comm, wide, gradient));
          }
        }
      }
    }
  });
}

TEST(SparseInput, a_rank_that_throws_ends_the_call_of_the_others) {
  try {
    run_threads(3, [](const Comm& comm) {
      SparseAllreduce reduce(comm, n, summing("oktopk", 0.1));
      run_checked<float>(comm, reduce, integers(comm.rank(), 0, n));
      if (comm.rank() == 1) throw Error("no gradient today");
      run_checked<float>(comm, reduce, integers(comm.rank(), 1, n));
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no gradient today"), std::string::npos);
  }
}

TEST(SparseInput, workspace_bytes_predicts_the_memory_of_an_object) {
  const index_t size = 400000;
  for (const std::string& algorithm : sparse_algorithms()) {
    SCOPED_TRACE(algorithm);
    SparseOptions options = summing(algorithm, 0.01);
    for (const auto exchange : {SparseExchange::exact, SparseExchange::slots}) {
      options.exchange = exchange;
      Tensor<float> tensor(elements<float>(integers(0, 0, size)));
      const index_t before = memory_stats(options.device).bytes_in_use;
      SparseAllreduce reduce(Comm::self(), size, options);
      for (int step = 0; step < 2; ++step) reduce.run(tensor.ref(), tensor.ref());
      const index_t used = memory_stats(options.device).bytes_in_use - before;
      const index_t predicted = SparseAllreduce::workspace_bytes(1, size, options);
      EXPECT_LE(used, predicted + predicted / 8);
      EXPECT_GE(used, predicted / 2);
    }
  }
}

}  // namespace
}  // namespace weft::test
