#pragma once

#include "train_digits/training.hpp"

#include <string>
#include <vector>

namespace digits {

/// The training runs of one method, one per seed.
struct MethodRuns {
  Method method;
  std::vector<Training> runs;

  /// The means over the runs, epoch by epoch and step by step.
  std::vector<Progress> mean_epochs() const;
  std::vector<StepRecord> mean_steps() const;
};

/// Means over all steps of all runs.
struct Summary {
  std::string name;
  bool error_feedback = true;
  double accuracy = 0;
  double loss = 0;
  /// Compared with those of dense.
  double accuracy_lost = 0;
  double loss_ratio = 1;
  double words_per_step = 0;
  /// 0 where nothing is selected or counted.
  double selected_over_k = 0;
  double result_over_k = 0;
  double seconds = 0;
};

/// `all` begins with dense.
std::vector<Summary> summaries(const std::vector<MethodRuns>& all);
/// With a header.
std::vector<std::vector<std::string>> table_of(const std::vector<Summary>& all);

struct Check {
  std::string what;
  double value = 0;
  double limit = 0;
  bool at_most = true;

  bool passed() const { return at_most ? value <= limit : value >= limit; }
};

/// Sparse methods must train about as well as dense. Those without error feedback must not: else
/// the problem is too easy to show anything.
std::vector<Check> checks_of(const std::vector<Summary>& all);

/// All results with the options, the date and the machine.
std::string json_of(const weft::Comm& world, const TrainingOptions& options, double density,
                    int seeds, const std::vector<Summary>& all, const std::vector<Check>& checks);

}  // namespace digits
