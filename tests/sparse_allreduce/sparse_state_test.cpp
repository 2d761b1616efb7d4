#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/support/gradients.hpp"
#include "sparse_allreduce/support/options.hpp"
#include "support/disagreement.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::test {
namespace {

constexpr index_t n = 500;

std::vector<float> run_once(const Comm& comm, SparseAllreduce& reduce, int step) {
  Tensor<float> tensor(elements<float>(integers(comm.rank(), step, n)));
  reduce.run(tensor.ref(), tensor.ref());
  return tensor.read();
}

TEST(SparseState, going_on_from_a_saved_state_gives_the_same_bits) {
  on_ranks([](Comm comm) {
    for (const std::string& algorithm : sparse_algorithms()) {
      SCOPED_TRACE(algorithm);
      const SparseOptions options = summing(algorithm, 0.05);
      SparseAllreduce whole(comm, n, options);
      for (int step = 0; step < 5; ++step) run_once(comm, whole, step);
      const std::vector<std::byte> state = whole.save();
      SparseAllreduce resumed(comm, n, options);
      run_once(comm, resumed, 99);
      resumed.load(state);
      for (int step = 5; step < 40; ++step) {
        EXPECT_EQ(run_once(comm, resumed, step), run_once(comm, whole, step));
      }
      EXPECT_EQ(resumed.save(), whole.save());
    }
  });
}

TEST(SparseState, reset_starts_again) {
  on_ranks([](Comm comm) {
    SparseAllreduce used(comm, n, summing("oktopk", 0.05));
    for (int step = 0; step < 3; ++step) run_once(comm, used, step);
    used.reset();
    SparseAllreduce fresh(comm, n, summing("oktopk", 0.05));
    EXPECT_EQ(used.save(), fresh.save());
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(run_once(comm, used, step), run_once(comm, fresh, step));
    }
  });
}

TEST(SparseState, moves_to_another_device_and_goes_on) {
  on_ranks([](Comm comm) {
    if (other_device().kind == DeviceKind::cuda) return;
    SparseOptions options = summing("oktopk", 0.05);
    options.device = Device::cpu();
    SparseAllreduce stays(comm, n, options);
    SparseAllreduce moves(comm, n, options);
    for (int step = 0; step < 3; ++step) {
      std::vector<float> gradient = elements<float>(integers(comm.rank(), step, n));
      std::vector<float> a(n);
      stays.run(gradient, a);
      const Device device = step == 1 ? other_device() : Device::cpu();
      if (step > 0) moves.to(device);
      Buffer<float> there(n, device);
      copy_bytes(there.data(), device, gradient.data(), Device::cpu(), n * sizeof(float));
      moves.run(there, there);
      std::vector<float> b(n);
      copy_bytes(b.data(), Device::cpu(), there.data(), device, n * sizeof(float));
      EXPECT_EQ(a, b);
    }
    EXPECT_EQ(moves.save(), stays.save());
  });
}

TEST(SparseState, refuses_states_of_other_objects_and_damaged_ones) {
  on_ranks([](Comm comm) {
    SparseAllreduce reduce(comm, n, summing("oktopk", 0.05));
    run_once(comm, reduce, 0);
    const std::vector<std::byte> before = reduce.save();
    const auto refuses = [&](const std::vector<std::byte>& state, const std::string& word) {
      expect_error<AgreedError>(comm, {"SparseAllreduce::load", word}, [&] { reduce.load(state); });
      EXPECT_EQ(reduce.save(), before);
    };
    refuses(SparseAllreduce(comm, n + 1, summing("oktopk", 0.05)).save(), "501 elements");
    refuses(SparseAllreduce(comm, n, summing("topkA", 0.05)).save(), "another algorithm");
    refuses(SparseAllreduce(comm, n, summing("oktopk", 0.05, DType::f64)).save(), "another type");
    std::vector<std::byte> damaged = before;
    damaged[damaged.size() / 2] ^= std::byte{1};
    refuses(damaged, "damaged");
    damaged = before;
    damaged.pop_back();
    refuses(damaged, "damaged");
    refuses({}, "0 bytes");
    // One rank alone has a wrong one.
    if (comm.size() > 1) refuses(comm.rank() == 1 ? damaged : before, "damaged");
  });
}

/// Ranks with different thresholds or regions would wait for each other in different calls of Comm.
TEST(SparseState, refuses_states_of_different_runs_on_different_ranks) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    SparseAllreduce one(comm, n, summing("oktopk", 0.05));
    SparseAllreduce other(comm, n, summing("oktopk", 0.05));
    run_once(comm, one, 0);
    run_once(comm, other, 1);
    const std::vector<std::byte> before = one.save();
    expect_disagreement(comm, {"SparseAllreduce::load", "1 calls"},
                        [&] { one.load(comm.rank() == 1 ? other.save() : before); });
    EXPECT_EQ(one.save(), before);
  });
}

TEST(SparseState, refuses_to_move_to_different_devices) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1 || other_device().kind == DeviceKind::cuda) return;
    SparseOptions options = summing("oktopk", 0.05);
    options.device = Device::cpu();
    SparseAllreduce reduce(comm, n, options);
    expect_disagreement(comm, {"on a cpu", "on a debug"},
                        [&] { reduce.to(comm.rank() == 1 ? Device::debug() : Device::cpu()); });
  });
}

}  // namespace
}  // namespace weft::test
