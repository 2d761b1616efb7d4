#include "train_digits/training.hpp"

#include <weft/core/error.hpp>

#include "train_digits/network.hpp"

#include <algorithm>
#include <chrono>

namespace digits {
namespace {

/// The state of one training run on one rank.
class Trainer {
 public:
  Trainer(const weft::Comm& world, const Digits& digits, const Method& method,
          const TrainingOptions& options, std::uint64_t seed)
      : world_(world),
        digits_(digits),
        options_(options),
        shard_(shard_of(digits.count, world.rank(), world.size(), seed)),
        network_(world.device(), most_rows(), seed),
        average_(Network::size, world.device()),
        order_(train_rows(), world.device()),
        reduce_(world, Network::size, method.options),
        random_(1'000'003 * (seed + 1) + static_cast<std::uint64_t>(world.rank())) {}

  Training run() {
    const auto start = std::chrono::steady_clock::now();
    evaluate();
    for (index_t epoch = 0; epoch < options_.epochs; ++epoch) {
      shuffle();
      for (index_t first = 0; first + options_.batch <= train_rows(); first += options_.batch)
        step(order_.data() + first);
      evaluate();
    }
    take_means();
    training_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(training_);
  }

 private:
  index_t train_rows() const { return static_cast<index_t>(shard_.train.size()); }

  index_t most_rows() const {
    weft::require(options_.batch <= train_rows(),
                  "train: a rank has {} digits to train with, fewer than a batch of {}; use fewer "
                  "ranks or a smaller batch",
                  train_rows(), options_.batch);
    return static_cast<index_t>(std::max(shard_.train.size(), shard_.test.size()));
  }

  void shuffle() {
    random_.shuffle(shard_.train);
    weft::copy_bytes(order_.data(), world_.device(), shard_.train.data(), weft::Device::cpu(),
                     shard_.train.size() * sizeof(std::int32_t));
  }

  void step(const std::int32_t* rows) {
    network_.compute_gradient(digits_, rows, options_.batch);
    reduce_.run(network_.gradient(), average_);
    network_.descend(static_cast<float>(options_.rate), average_);

    const weft::SparseReport& report = reduce_.report();
    training_.steps.push_back({static_cast<double>(report.k), static_cast<double>(report.selected),
                               static_cast<double>(report.result), report.local_threshold,
                               report.global_threshold, static_cast<double>(report.words())});
    words_ += static_cast<double>(report.words());
  }

  void evaluate() {
    const Score train = network_.score(digits_, shard_.train);
    const Score test = network_.score(digits_, shard_.test);
    std::vector<double> sums = {train.loss, train.rows, test.correct, test.rows, words_};
    world_.allreduce(sums);
    training_.epochs.push_back({static_cast<index_t>(training_.steps.size()),
                                sums[4] / world_.size(), sums[0] / sums[1], sums[2] / sums[3]});
  }

  /// Until then, each rank has its own records of steps.
  void take_means() {
    static_assert(sizeof(StepRecord) == 6 * sizeof(double));
    std::vector<double> sums;
    for (const StepRecord& each : training_.steps) {
      sums.insert(sums.end(), {each.k, each.selected, each.result, each.local_threshold,
                               each.global_threshold, each.words});
    }
    world_.allreduce(sums);
    for (double& each : sums) each /= world_.size();
    const double* mean = sums.data();
    for (StepRecord& each : training_.steps) {
      each = {mean[0], mean[1], mean[2], mean[3], mean[4], mean[5]};
      mean += 6;
    }
  }

  const weft::Comm& world_;
  const Digits& digits_;
  const TrainingOptions& options_;
  Shard shard_;
  Network network_;
  weft::Buffer<float> average_;
  /// The rows of this rank in the order of this epoch.
  weft::Buffer<std::int32_t> order_;
  weft::SparseAllreduce reduce_;
  Random random_;
  Training training_;
  double words_ = 0;
};

}  // namespace

bool StepRecord::counts_result() const { return result < static_cast<double>(Network::size); }

Training train(const weft::Comm& world, const Digits& digits, const Method& method,
               const TrainingOptions& options, std::uint64_t seed) {
  return Trainer(world, digits, method, options, seed).run();
}

}  // namespace digits
