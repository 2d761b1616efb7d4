#pragma once

#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "train_digits/digits.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace digits {

/// How gradients are averaged over the ranks.
struct Method {
  std::string name;
  weft::SparseOptions options;
};

struct TrainingOptions {
  index_t epochs = 40;
  /// Rows per rank and step.
  index_t batch = 8;
  double rate = 0.2;
};

/// After some steps.
struct Progress {
  index_t steps = 0;
  /// That a rank has sent or received, mean over the ranks.
  double words = 0;
  /// Mean over the training set.
  double loss = 0;
  /// Share of the test set.
  double accuracy = 0;
};

/// What the averaging of one step did, mean over the ranks.
struct StepRecord {
  double k = 0;
  double selected = 0;
  double result = 0;
  double local_threshold = 0;
  double global_threshold = 0;
  double words = 0;

  /// Not if the result has been written as all elements, without counting those that are not 0.
  bool counts_result() const;
};

struct Training {
  std::vector<Progress> epochs;  // the first is before training
  std::vector<StepRecord> steps;
  double seconds = 0;

  const Progress& last() const { return epochs.back(); }
};

/// Trains a network by stochastic gradient descent. All ranks keep equal weights. The bits of the
/// result depend on the arguments and the number of ranks only. Collective.
Training train(const weft::Comm& world, const Digits& digits, const Method& method,
               const TrainingOptions& options, std::uint64_t seed);

}  // namespace digits
