#include "train_digits/results.hpp"

#include <weft/comm/format.hpp>
#include <weft/core/device_info.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>

namespace digits {
namespace {

constexpr double most_accuracy_lost = 0.007;
constexpr double most_loss_ratio = 1.25;
constexpr double least_ratio_without_feedback = 2;

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::string text_of(double ratio) { return ratio == 0 ? "" : fmt::format("{:.2f}", ratio); }

Summary summary_of(const MethodRuns& runs) {
  Summary summary{.name = runs.method.name, .error_feedback = runs.method.options.error_feedback};
  const Progress last = runs.mean_epochs().back();
  summary.accuracy = last.accuracy;
  summary.loss = last.loss;
  const std::vector<StepRecord> steps = runs.mean_steps();
  const auto count = static_cast<double>(steps.size());
  for (const StepRecord& each : steps) {
    summary.words_per_step += each.words / count;
    summary.selected_over_k += each.selected / each.k / count;
    if (each.counts_result()) summary.result_over_k += each.result / each.k / count;
  }
  for (const Training& run : runs.runs)
    summary.seconds += run.seconds / static_cast<double>(runs.runs.size());
  return summary;
}

}  // namespace

std::vector<Progress> MethodRuns::mean_epochs() const {
  std::vector<Progress> mean(runs.front().epochs.size());
  const double share = 1 / static_cast<double>(runs.size());
  for (const Training& run : runs) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i].steps = run.epochs[i].steps;
      mean[i].words += share * run.epochs[i].words;
      mean[i].loss += share * run.epochs[i].loss;
      mean[i].accuracy += share * run.epochs[i].accuracy;
    }
  }
  return mean;
}

std::vector<StepRecord> MethodRuns::mean_steps() const {
  std::vector<StepRecord> mean(runs.front().steps.size());
  const double share = 1 / static_cast<double>(runs.size());
  for (const Training& run : runs) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i].k += share * run.steps[i].k;
      mean[i].selected += share * run.steps[i].selected;
      mean[i].result += share * run.steps[i].result;
      mean[i].local_threshold += share * run.steps[i].local_threshold;
      mean[i].global_threshold += share * run.steps[i].global_threshold;
      mean[i].words += share * run.steps[i].words;
    }
  }
  return mean;
}

std::vector<Summary> summaries(const std::vector<MethodRuns>& all) {
  std::vector<Summary> result;
  for (const MethodRuns& each : all) {
    result.push_back(summary_of(each));
    const Summary& dense = result.front();
    Summary& mine = result.back();
    mine.accuracy_lost = dense.accuracy - mine.accuracy;
    mine.loss_ratio = mine.loss / dense.loss;
  }
  return result;
}

std::vector<std::vector<std::string>> table_of(const std::vector<Summary>& all) {
  std::vector<std::vector<std::string>> rows = {{"method", "test accuracy, %", "training loss",
                                                 "loss / dense", "words per step", "selected / k",
                                                 "result / k", "seconds"}};
  for (const Summary& each : all) {
    rows.push_back({each.name, fmt::format("{:.2f}", 100 * each.accuracy),
                    fmt::format("{:.4f}", each.loss), fmt::format("{:.3f}", each.loss_ratio),
                    fmt::format("{:.0f}", each.words_per_step), text_of(each.selected_over_k),
                    text_of(each.result_over_k), fmt::format("{:.2f}", each.seconds)});
  }
  return rows;
}

std::vector<Check> checks_of(const std::vector<Summary>& all) {
  std::vector<Check> checks;
  for (auto each = all.begin() + 1; each != all.end(); ++each) {
    if (each->error_feedback) {
      checks.push_back({each->name + ": points of accuracy below dense", 100 * each->accuracy_lost,
                        100 * most_accuracy_lost});
      checks.push_back({each->name + ": loss / dense", each->loss_ratio, most_loss_ratio});
    } else {
      checks.push_back(
          {each->name + ": loss / dense", each->loss_ratio, least_ratio_without_feedback, false});
    }
  }
  return checks;
}

std::string json_of(const weft::Comm& world, const TrainingOptions& options, double density,
                    int seeds, const std::vector<Summary>& all, const std::vector<Check>& checks) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Summary& each : all) {
    rows.push_back({{"method", each.name},
                    {"error_feedback", each.error_feedback},
                    {"accuracy", each.accuracy},
                    {"loss", each.loss},
                    {"points_below_dense", 100 * each.accuracy_lost},
                    {"loss_ratio", each.loss_ratio},
                    {"words_per_step", each.words_per_step},
                    {"selected_over_k", each.selected_over_k},
                    {"result_over_k", each.result_over_k},
                    {"seconds", each.seconds}});
  }
  nlohmann::json failed = nlohmann::json::array();
  for (const Check& each : checks) {
    if (!each.passed()) failed.push_back(each.what);
  }
  const nlohmann::json result = {{"date", today()},
                                 {"processor", weft::device_info(weft::Device::cpu()).name},
                                 {"ranks", world.size()},
                                 {"transport", world.transport()},
                                 {"device", to_string(world.device())},
                                 {"density", density},
                                 {"epochs", options.epochs},
                                 {"batch", options.batch},
                                 {"rate", options.rate},
                                 {"seeds", seeds},
                                 {"rows", rows},
                                 {"failed_checks", failed}};
  return result.dump(1) + "\n";
}

}  // namespace digits
