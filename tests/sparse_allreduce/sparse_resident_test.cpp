// Calls in slots on a device, whose numbers the host does not read.

#include <weft/comm/comm.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
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

constexpr index_t n = 420;

SparseOptions in_slots(const std::string& algorithm, Device device, index_t capacity = 0) {
  SparseOptions options;
  options.algorithm = algorithm;
  options.density = 0.05;
  options.device = device;
  options.op = ReduceOp::sum;
  options.costs = {0, 0, 1};  // "auto" reduces all elements
  options.exchange = SparseExchange::slots;
  options.capacity = capacity;
  options.oktopk.local_period = 5;
  options.oktopk.global_period = 7;
  options.oktopk.region_period = 11;
  return options;
}

/// The algorithms whose calls in slots need no host, with their own selectors.
std::vector<std::string> resident_algorithms() {
  return {"oktopk", "topkA", "topkA2", "topkAopt", "topkSA", "auto"};
}

/// An object with its gradient and result in memory of a device.
template <class T = float>
class Reducer {
 public:
  Reducer(const Comm& comm, index_t size, const SparseOptions& options)
      : comm_(comm),
        in_(size, options.device),
        out_(size, options.device),
        reduce_(comm, size, options) {}

  void give(const std::vector<T>& gradient) {
    copy_bytes(in_.data(), in_.device(), gradient.data(), Device::cpu(), bytes());
  }
  void give(index_t step) { give(elements<T>(integers(comm_.rank(), step, in_.size()))); }
  void call() { reduce_.run(in_, out_); }
  std::vector<T> result() const {
    std::vector<T> values(static_cast<std::size_t>(out_.size()));
    copy_bytes(values.data(), Device::cpu(), out_.data(), out_.device(), bytes());
    return values;
  }
  std::vector<T> step(index_t number) {
    give(number);
    call();
    return result();
  }
  SparseAllreduce& object() { return reduce_; }
  Buffer<T>& gradient() { return in_; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(in_.size()) * sizeof(T); }
  Comm comm_;
  Buffer<T> in_;
  Buffer<T> out_;
  SparseAllreduce reduce_;
};

TEST(SparseResident, calls_neither_wait_nor_allocate) {
  on_ranks([](Comm comm) {
    const Device device = other_device();
    std::vector<std::string> selectors = {"", "exact", "reused", "periodic", "sampled", "chunked"};
    for (const std::string& algorithm : resident_algorithms()) {
      for (const std::string& selector : selectors) {
        if (!selector.empty() && algorithm != "oktopk") continue;
        SCOPED_TRACE(algorithm + " " + selector);
        SparseOptions options = in_slots(algorithm, device);
        options.selector = selector;
        Reducer<> run(comm, n, options);
        for (index_t step = 0; step < 3; ++step) {
          run.step(step);
          run.object().run_sparse(run.gradient());
        }
        // Messages on other routes wait themselves, unless they are captured.
        const bool waits_alone = comm.size() == 1 || comm.route(device).name == "nccl";
        comm.barrier();
        const index_t waits = Stream::host_waits();
        const index_t allocations = memory_stats(device).allocations;
        comm.barrier();
        // All periods come round, with searches for thresholds and new regions.
        for (index_t step = 0; step < 12; ++step) {
          run.call();
          run.object().run_sparse(run.gradient());
        }
        comm.barrier();
        if (waits_alone) {
          EXPECT_EQ(Stream::host_waits(), waits);
          EXPECT_EQ(memory_stats(device).allocations, allocations);
        }
        comm.barrier();
        EXPECT_EQ(run.object().report().host_waits, 0);
      }
    }
  });
}

TEST(SparseResident, devices_have_the_same_bits) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      for (const index_t capacity : {0, 2}) {
        SCOPED_TRACE(algorithm + " " + std::to_string(capacity));
        Reducer<> there(comm, n, in_slots(algorithm, other_device(), capacity));
        Reducer<> here(comm, n, in_slots(algorithm, Device::cpu(), capacity));
        for (index_t step = 0; step < 12; ++step) {
          ASSERT_EQ(there.step(step), here.step(step)) << step;
        }
        EXPECT_EQ(there.object().save(), here.object().save());
        const SparseReport& a = there.object().report();
        const SparseReport& b = here.object().report();
        EXPECT_EQ(a.words(), b.words());
        EXPECT_EQ(a.padding_words, b.padding_words);
        EXPECT_EQ(a.selected, b.selected);
        EXPECT_EQ(a.result, b.result);
        EXPECT_EQ(a.overflow, b.overflow);
      }
    }
  });
}

/// So many elements that selections begin with a sample.
TEST(SparseResident, large_tensors_are_those_of_exact_messages) {
  on_ranks([](Comm comm) {
    if (comm.size() > 3) return;  // takes long
    const index_t size = 70001;
    for (const bool is_sample_misleading : {false, true}) {
      SparseOptions options = in_slots("oktopk", other_device(), size);
      options.density = 0.01;
      Reducer<> slots(comm, size, options);
      options.exchange = SparseExchange::exact;
      Reducer<> exact(comm, size, options);
      for (index_t step = 0; step < 6; ++step) {
        std::vector<float> gradient = elements<float>(integers(comm.rank(), step, size));
        // The sample has one element in 61, and sees only these.
        for (std::size_t i = 0; is_sample_misleading && i < gradient.size(); i += 61) {
          gradient[i] *= 100;
        }
        slots.give(gradient);
        slots.call();
        exact.give(gradient);
        exact.call();
        ASSERT_EQ(slots.result(), exact.result()) << step;
        EXPECT_EQ(residual_of(slots.object(), size, DType::f32),
                  residual_of(exact.object(), size, DType::f32));
        const SparseReport& report = slots.object().report();
        EXPECT_EQ(report.selected, exact.object().report().selected);
        EXPECT_EQ(report.result, exact.object().report().result);
        EXPECT_EQ(report.local_threshold, exact.object().report().local_threshold);
        EXPECT_EQ(report.global_threshold, exact.object().report().global_threshold);
        EXPECT_EQ(report.words(), exact.object().report().words());
        EXPECT_EQ(report.overflow, 0);
      }
    }
  });
}

/// Of short and of long lists, where gradients grow.
TEST(SparseResident, raised_thresholds_are_those_of_exact_messages) {
  on_ranks([](Comm comm) {
    for (const index_t size : {n, index_t{20001}}) {
      SparseOptions options = in_slots("oktopk", other_device(), size);
      options.oktopk.local_period = 100;
      Reducer<> slots(comm, size, options);
      options.exchange = SparseExchange::exact;
      Reducer<> exact(comm, size, options);
      int raised = 0;
      for (index_t step = 0; step < 5; ++step) {
        std::vector<float> gradient = elements<float>(integers(comm.rank(), step, size));
        for (float& x : gradient) x *= static_cast<float>(1 + 2 * step);
        const double before = exact.object().report().local_threshold;
        slots.give(gradient);
        slots.call();
        exact.give(gradient);
        exact.call();
        EXPECT_EQ(slots.result(), exact.result()) << step;
        const double threshold = exact.object().report().local_threshold;
        EXPECT_EQ(slots.object().report().local_threshold, threshold);
        EXPECT_EQ(residual_of(slots.object(), size, DType::f32),
                  residual_of(exact.object(), size, DType::f32));
        if (step > 0 && threshold > 1.1 * before) ++raised;
      }
      EXPECT_GT(raised, 0);
    }
  });
}

/// More is selected than lists have room for: the threshold of the first call is low.
TEST(SparseResident, what_lists_have_no_room_for_stays_in_the_residual) {
  on_ranks([](Comm comm) {
    const index_t size = 20000;
    SparseOptions options = in_slots("oktopk", other_device());
    options.density = 0.001;
    options.oktopk.local_period = 100;
    Reducer<> run(comm, size, options);
    run.give(std::vector<float>(static_cast<std::size_t>(size), 1.0F));
    run.call();
    for (index_t step = 0; step < 5; ++step) {
      const std::vector<double> before = residual_of(run.object(), size, DType::f32);
      const std::vector<double> gradient(static_cast<std::size_t>(size), 4.0);
      run.give(elements<float>(gradient));
      run.call();
      EXPECT_EQ(sum_over_ranks(comm, plus(before, gradient)),
                plus(sum_over_ranks(comm, residual_of(run.object(), size, DType::f32)),
                     numbers(run.result())));
      if (step == 0) {
        EXPECT_GT(run.object().report().selected, size / 2);
      }
      EXPECT_GT(run.object().report().overflow, 0);
    }
  });
}

/// Gradients of step 4 on the last rank have NaNs at 17 and 40.
template <class T>
std::vector<T> with_nan(const Comm& comm, index_t step) {
  std::vector<T> gradient = elements<T>(integers(comm.rank(), step, n));
  if (step == 4 && comm.rank() == comm.size() - 1) {
    gradient[17] = gradient[40] = make<T>(std::numeric_limits<double>::quiet_NaN());
  }
  return gradient;
}

template <class T>
void expect_refusal(const Comm& comm, const std::string& algorithm) {
  SparseOptions options = in_slots(algorithm, other_device());
  options.dtype = dtype_of<T>;
  Reducer<T> run(comm, n, options);
  run.step(3);
  std::vector<double> expected = residual_of(run.object(), n, options.dtype);
  const std::vector<T> gradient = with_nan<T>(comm, 4);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(number(gradient[i]))) expected[i] += number(gradient[i]);
  }
  run.give(gradient);
  run.call();
  EXPECT_EQ(run.result(), std::vector<T>(gradient.size()));
  EXPECT_EQ(residual_of(run.object(), n, options.dtype), expected);
  run.step(5);
  const std::string rank = "rank " + std::to_string(comm.size() - 1);
  expect_error<Error>(comm, {"call 1", "element 17", rank, "not finite"},
                      [&] { run.object().report(); });
  EXPECT_EQ(run.object().report().call, 2);  // told once
  EXPECT_EQ(run.object().report().dropped, 0);
}

TEST(SparseResident, no_rank_applies_a_gradient_that_is_not_finite) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : resident_algorithms()) {
      SCOPED_TRACE(algorithm);
      expect_refusal<BFloat16>(comm, algorithm);
    }
    expect_refusal<float>(comm, "gaussiank");  // the host reads its counts
  });
}

TEST(SparseResident, refused_calls_have_no_pairs) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : resident_algorithms()) {
      SCOPED_TRACE(algorithm);
      Reducer<> run(comm, n, in_slots(algorithm, other_device()));
      run.step(0);
      run.give(with_nan<float>(comm, 4));
      const SparseResult result = run.object().run_sparse(run.gradient());
      index_t count = -1;
      copy_bytes(&count, Device::cpu(), result.count.data, result.count.where, sizeof(count));
      EXPECT_EQ(count, 0);
      expect_error<Error>(comm, {"call 1"}, [&] { run.object().report(); });
      EXPECT_EQ(run.object().report().result, 0);
      EXPECT_EQ(run.object().report().dropped, comm.rank() == comm.size() - 1 ? 2 : 0);
    }
  });
}

/// The CPU throws at once, and is then in the same state.
TEST(SparseResident, cpus_and_devices_are_in_the_same_state_after_a_refusal) {
  on_ranks([](Comm comm) {
    Reducer<> there(comm, n, in_slots("oktopk", other_device()));
    Reducer<> here(comm, n, in_slots("oktopk", Device::cpu()));
    for (index_t step = 0; step < 10; ++step) {
      const std::vector<float> gradient = with_nan<float>(comm, step);
      there.give(gradient);
      there.call();
      here.give(gradient);
      if (step == 4) {
        const std::vector<float> before = here.result();
        expect_error<AgreedError>(comm, {"element 17", "not finite"}, [&] { here.call(); });
        EXPECT_EQ(here.result(), before);
      } else {
        here.call();
        EXPECT_EQ(there.result(), here.result());
      }
    }
    EXPECT_EQ(there.object().save(), here.object().save());
  });
}

TEST(SparseResident, check_every_throws_on_all_ranks) {
  on_ranks([](Comm comm) {
    SparseOptions options = in_slots("oktopk", other_device());
    options.check_every = 3;
    Reducer<> run(comm, n, options);
    for (index_t step = 0; step < 5; ++step) {
      run.give(with_nan<float>(comm, step));
      run.call();
    }
    // A rank that asks before does not keep the others from being told.
    if (comm.rank() == 0) {
      EXPECT_THROW(run.object().report(), Error);
      EXPECT_EQ(run.object().report().call, 4);
    }
    run.give(5);
    expect_error<AgreedError>(comm, {"call 4", "element 17"}, [&] { run.call(); });
    run.step(6);
    EXPECT_EQ(run.object().report().host_waits, 0);
  });
}

TEST(SparseResident, goes_on_from_a_saved_state) {
  on_ranks([](Comm comm) {
    for (const std::string algorithm : {"oktopk"}) {
      SCOPED_TRACE(algorithm);
      const SparseOptions options = in_slots(algorithm, other_device(), 3);
      Reducer<> whole(comm, n, options);
      for (index_t step = 0; step < 4; ++step) whole.step(step);
      const std::vector<std::byte> state = whole.object().save();
      Reducer<> resumed(comm, n, options);
      resumed.step(99);
      resumed.object().load(state);
      for (index_t step = 4; step < 15; ++step) {
        if (step == 8) resumed.object().to(Device::cpu());
        if (step == 8) resumed.object().to(other_device());
        ASSERT_EQ(resumed.step(step), whole.step(step)) << step;
      }
      EXPECT_EQ(resumed.object().save(), whole.object().save());
      resumed.object().reset();
      EXPECT_EQ(resumed.object().save(), Reducer<>(comm, n, options).object().save());
    }
  });
}

/// On devices without graphs, the work of a graph is run again.
TEST(SparseResident, graphs_repeat_a_call) {
  on_ranks([](Comm comm) {
    if (comm.size() > 1 && other_device().kind == DeviceKind::cuda &&
        !comm.route(other_device()).capturable) {
      GTEST_SKIP() << "needs a route that can be captured";
    }
    for (const std::string algorithm : {"oktopk", "topkA"}) {
      SCOPED_TRACE(algorithm);
      SparseOptions options = in_slots(algorithm, other_device(), 4);
      options.oktopk.local_period = options.oktopk.global_period = 8;
      options.oktopk.region_period = 16;
      Reducer<> issued(comm, n, options);
      Reducer<> launched(comm, n, options);
      for (index_t step = 0; step < 2; ++step) EXPECT_EQ(launched.step(step), issued.step(step));
      const Graph graph = Graph::capture(other_device(), [&] { launched.call(); });
      for (index_t step = 2; step < 8; ++step) {
        launched.give(step);
        graph.launch();
        ASSERT_EQ(launched.result(), issued.step(step)) << step;
      }
      EXPECT_EQ(launched.object().report().call, 7);
      // Thresholds are due.
      EXPECT_EQ(launched.step(8), issued.step(8));
      EXPECT_EQ(launched.object().save(), issued.object().save());
      comm.barrier();
      const index_t waits = Stream::host_waits();
      const index_t allocations = memory_stats(other_device()).allocations;
      comm.barrier();
      for (int i = 0; i < 5; ++i) graph.launch();
      comm.barrier();
      if (comm.size() == 1 || comm.route(other_device()).capturable) {
        EXPECT_EQ(Stream::host_waits(), waits);
        EXPECT_EQ(memory_stats(other_device()).allocations, allocations);
      }
      comm.barrier();
    }
  });
}

TEST(SparseResident, calls_that_cannot_be_repeated_are_not_captured) {
  if (other_device().kind != DeviceKind::cuda) GTEST_SKIP() << "needs a GPU";
  on_ranks([](Comm comm) {
    const auto refuses = [&](Reducer<>& run, const std::string& word) {
      const std::vector<std::byte> before = run.object().save();
      expect_error<AgreedError>(comm, {"captured", word},
                                [&] { Graph::capture(other_device(), [&] { run.call(); }); });
      EXPECT_EQ(run.object().save(), before);
    };
    Reducer<> first(comm, n, in_slots("oktopk", other_device()));
    refuses(first, "allocates");
    for (index_t step = 0; step < 5; ++step) first.step(step);
    refuses(first, "thresholds");
    Reducer<> gaussian(comm, n, in_slots("gaussiank", other_device()));
    gaussian.step(0);
    refuses(gaussian, "waits");
    Reducer<> tree(comm, n, in_slots("gtopk", other_device()));
    tree.step(0);
    refuses(tree, "waits");
  });
}

}  // namespace
}  // namespace weft::test
