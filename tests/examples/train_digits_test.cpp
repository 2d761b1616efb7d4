// Tests of examples/train_digits, which is trained as a whole by CTest.

#include "train_digits/training.hpp"

#include <weft/core/error.hpp>

#include "io/folder.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"
#include "train_digits/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

namespace digits {
namespace {

using namespace weft;
using namespace weft::test;

const std::string path = WEFT_TEST_DIGITS;

template <class T>
std::vector<T> copy_of(const Buffer<T>& buffer) {
  std::vector<T> copy(static_cast<std::size_t>(buffer.size()));
  copy_bytes(copy.data(), Device::cpu(), buffer.data(), buffer.device(), copy.size() * sizeof(T));
  return copy;
}

/// The mean loss by the definition of the network, in double. Weights of a layer are followed by
/// its biases.
double loss_by_definition(const std::vector<double>& weights, const Digits& digits,
                          const std::vector<std::int32_t>& rows) {
  double loss = 0;
  for (const std::int32_t row : rows) {
    std::vector<double> x(digits.images.data() + row * 64, digits.images.data() + row * 64 + 64);
    std::size_t at = 0;
    for (const std::size_t outputs : {128U, 64U, 10U}) {
      std::vector<double> y(outputs);
      for (std::size_t o = 0; o < outputs; ++o) {
        y[o] = weights[at + x.size() * outputs + o];
        for (std::size_t i = 0; i < x.size(); ++i) y[o] += x[i] * weights[at + i * outputs + o];
        if (outputs != 10) y[o] = std::max(y[o], 0.0);
      }
      at += (x.size() + 1) * outputs;
      x = y;
    }
    double total = 0;
    for (const double logit : x) total += std::exp(logit);
    const auto label = static_cast<std::size_t>(digits.host_labels[static_cast<std::size_t>(row)]);
    loss += std::log(total) - x[label];
  }
  return loss / static_cast<double>(rows.size());
}

TEST(TrainDigits, gradient_is_the_derivative_of_the_loss) {
  const Digits digits = read_digits(Comm::self(), path);
  const std::vector<std::int32_t> rows = {0, 17, 5, 1796, 400};
  Network network(Device::cpu(), 5, 3);
  network.compute_gradient(digits, rows.data(), 5);
  const std::vector<float> gradient = copy_of(network.gradient());
  const std::vector<float> start = copy_of(network.weights());
  std::vector<double> weights(start.begin(), start.end());
  // Weights and biases of all layers, some of them of pixels that are always 0.
  const double h = 1e-5;
  int not_zero = 0;
  for (std::size_t i = 3; i < weights.size(); i += 149) {
    const double here = weights[i];
    weights[i] = here + h;
    const double above = loss_by_definition(weights, digits, rows);
    weights[i] = here - h;
    const double below = loss_by_definition(weights, digits, rows);
    weights[i] = here;
    const double slope = (above - below) / (2 * h);
    EXPECT_NEAR(gradient[i], slope, 1e-5 + 1e-4 * std::abs(slope)) << "weight " << i;
    not_zero += std::abs(slope) > 1e-4 ? 1 : 0;
  }
  EXPECT_GT(not_zero, 30);
}

TEST(TrainDigits, score_is_loss_and_accuracy) {
  const Digits digits = read_digits(Comm::self(), path);
  const std::vector<std::int32_t> rows = {9, 1, 700};
  Network network(Device::cpu(), 3, 1);
  const std::vector<float> start = copy_of(network.weights());
  const Score before = network.score(digits, rows);
  EXPECT_NEAR(before.loss / 3, loss_by_definition({start.begin(), start.end()}, digits, rows),
              1e-5);
  EXPECT_EQ(before.rows, 3);
  // Learns three digits by heart.
  for (int step = 0; step < 60; ++step) {
    network.compute_gradient(digits, rows.data(), 3);
    network.descend(0.2F, network.gradient());
  }
  const Score after = network.score(digits, rows);
  EXPECT_EQ(after.correct, 3);
  EXPECT_LT(after.loss, before.loss / 10);
  EXPECT_THROW(network.score(digits, {1, 2, 3, 4}), ArgumentError);
}

TEST(TrainDigits, devices_compute_the_same_bits) {
  const Comm host = Comm::self();
  const Comm other = host.on(other_device());
  const Digits here = read_digits(host, path);
  const Digits there = read_digits(other, path);
  Network ours(host.device(), 9, 5);
  Network theirs(other.device(), 9, 5);
  const std::vector<std::int32_t> rows = {4, 8, 15, 16, 23, 42, 99, 1000, 1500};
  Buffer<std::int32_t> rows_there(9, other.device());
  copy_bytes(rows_there.data(), other.device(), rows.data(), Device::cpu(), 36);
  for (int step = 0; step < 10; ++step) {
    ours.compute_gradient(here, rows.data(), 9);
    ours.descend(0.2F, ours.gradient());
    theirs.compute_gradient(there, rows_there.data(), 9);
    theirs.descend(0.2F, theirs.gradient());
  }
  const std::vector<float> a = copy_of(ours.weights());
  const std::vector<float> b = copy_of(theirs.weights());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  EXPECT_EQ(ours.score(here, rows).loss, theirs.score(there, rows).loss);
}

TEST(TrainDigits, shards_share_the_digits) {
  for (const int ranks : {1, 3, 8, 32}) {
    std::set<std::int32_t> train;
    std::set<std::int32_t> test;
    for (int rank = 0; rank < ranks; ++rank) {
      const Shard shard = shard_of(1797, rank, ranks, 7);
      EXPECT_EQ(shard.train.size(), 1438U / static_cast<unsigned>(ranks));
      train.insert(shard.train.begin(), shard.train.end());
      test.insert(shard.test.begin(), shard.test.end());
    }
    EXPECT_EQ(train.size(), 1438U / static_cast<unsigned>(ranks) * static_cast<unsigned>(ranks));
    EXPECT_EQ(test.size(), 359U);
    for (const std::int32_t row : test) EXPECT_FALSE(train.contains(row));
  }
  EXPECT_NE(shard_of(1797, 0, 3, 1).train, shard_of(1797, 0, 3, 2).train);
}

Method method(const std::string& algorithm) {
  Method result{algorithm, {}};
  result.options.algorithm = algorithm;
  return result;
}

void expect_same(const Training& a, const Training& b) {
  ASSERT_EQ(a.epochs.size(), b.epochs.size());
  for (std::size_t i = 0; i < a.epochs.size(); ++i) {
    EXPECT_EQ(a.epochs[i].loss, b.epochs[i].loss) << "epoch " << i;
    EXPECT_EQ(a.epochs[i].accuracy, b.epochs[i].accuracy) << "epoch " << i;
  }
}

TEST(TrainDigitsRanks, training_is_reproducible) {
  on_ranks([](const Comm& world) {
    const Digits digits = read_digits(world, path);
    const TrainingOptions options{.epochs = 2, .batch = 16};
    const Training first = train(world, digits, method("topk"), options, 1);
    expect_same(first, train(world, digits, method("topk"), options, 1));
    EXPECT_NE(first.last().loss, train(world, digits, method("topk"), options, 2).last().loss);
    // topkSA and topk differ in how they send, not in the result.
    expect_same(first, train(world, digits, method("topkSA"), options, 1));
    EXPECT_EQ(first.steps.size(), static_cast<std::size_t>(2 * (1438 / world.size() / 16)));
    EXPECT_LT(first.last().loss, first.epochs.front().loss);
  });
}

/// A plain loop with Comm::allreduce.
std::vector<double> dense_losses(const Comm& world, const Digits& digits, std::uint64_t seed) {
  Shard shard = shard_of(digits.count, world.rank(), world.size(), seed);
  Network network(Device::cpu(), static_cast<index_t>(shard.train.size()), seed);
  Random random(1'000'003 * (seed + 1) + static_cast<std::uint64_t>(world.rank()));
  Buffer<float> average(Network::size);
  std::vector<double> losses;
  for (int epoch = 0; epoch < 2; ++epoch) {
    random.shuffle(shard.train);
    for (std::size_t first = 0; first + 16 <= shard.train.size(); first += 16) {
      network.compute_gradient(digits, shard.train.data() + first, 16);
      world.allreduce(network.gradient(), average, ReduceOp::avg);
      network.descend(0.2F, average);
    }
    const Score score = network.score(digits, shard.train);
    losses.push_back(world.allreduce(score.loss) / world.allreduce(score.rows));
  }
  return losses;
}

TEST(TrainDigitsRanks, dense_is_an_allreduce) {
  on_ranks([](const Comm& world) {
    const Digits digits = read_digits(world, path);
    const Training dense = train(world, digits, method("dense"), {.epochs = 2, .batch = 16}, 4);
    const std::vector<double> losses = dense_losses(world, digits, 4);
    EXPECT_NEAR(dense.epochs[1].loss, losses[0], 1e-4 * losses[0]);
    EXPECT_NEAR(dense.epochs[2].loss, losses[1], 1e-4 * losses[1]);
  });
}

TEST(TrainDigitsRanks, bad_input) {
  on_ranks([](const Comm& world) {
    expect_error<AgreedError>(world, {"/no/digits.npy", "export-digits", "--data"},
                              [&] { read_digits(world, "/no/digits.npy"); });
    in_folder(world, [&](const std::string& folder) {
      const std::string other = folder + "/other.npy";
      write_on_first(world, other, content_of(path).substr(0, 5000));
      expect_error<AgreedError>(world, {other, "export-digits"},
                                [&] { read_digits(world, other); });
      std::string wrong = content_of(path);
      wrong[128 + 64] = 11;  // the label of the first digit
      write_on_first(world, other, wrong);
      expect_error(world, {"row 0", "label 11"}, [&] { read_digits(world, other); });
    });
    const Digits digits = read_digits(world, path);
    expect_error(world, {fmt::format("{} digits", 1438 / world.size()), "batch of 1439"},
                 [&] { train(world, digits, method("dense"), {.batch = 1439}, 0); });
  });
}

}  // namespace
}  // namespace digits
