#include "sparse_allreduce/presets.hpp"

#include <weft/core/error.hpp>

#include "sparse_allreduce/phase_timer.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace weft {
namespace detail {
namespace {

constexpr SparsePreset presets[] = {
    {"dense", nullptr, run_dense},
    {"topk", "exact", run_topka},
    {"topkA", "exact", run_topka},
    {"topkA2", "exact", run_topka2},
    {"topkAopt", "periodic", run_topka},
    {"topkSA", "exact", run_topksa},
    {"gtopk", "exact", run_gtopk},
    {"gaussiank", "gaussian", run_topka},
    {"gaussiankconcat", "gaussian", run_topka},
    {"gaussiankSA", "gaussian", run_topksa},
    {"oktopk", "reused", run_oktopk},
    {"auto", "reused", run_auto},
};

constexpr SparseSelector selectors[] = {
    {"exact", select_exact},       {"reused", select_reused},   {"periodic", select_periodic},
    {"gaussian", select_gaussian}, {"sampled", select_sampled}, {"chunked", select_chunked},
};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

template <class Table>
const auto& find_in(const Table& table, const char* what, const std::string& name) {
  const auto* found = std::find_if(std::begin(table), std::end(table),
                                   [&](const auto& entry) { return name == entry.name; });
  require(found != std::end(table), "SparseAllreduce: there is no {} '{}'; there are {}", what,
          name, listed(names_of(table)));
  return *found;
}

}  // namespace

const SparsePreset& find_preset(const std::string& name) {
  return find_in(presets, "algorithm", name);
}

const SparseSelector& find_selector(const std::string& name) {
  return find_in(selectors, "selector", name);
}

void select_elements(SparseContext& context) {
  const PhaseTimer timer(context, select_phase);
  context.selector->select(context);
  context.report.local_threshold = std::max(0.0, context.state.local_threshold);
}

}  // namespace detail

std::vector<std::string> sparse_algorithms() { return detail::names_of(detail::presets); }
std::vector<std::string> sparse_selectors() { return detail::names_of(detail::selectors); }

OktopkConstants OktopkConstants::lstm() {
  OktopkConstants constants;
  constants.raise_above = 3.0 / 2;
  constants.local_low = 3.0 / 4;
  constants.global_low = 3.0 / 4;
  constants.global_high = 5.0 / 4;
  constants.global_down = 1.01;
  return constants;
}

OktopkConstants OktopkConstants::bert() {
  OktopkConstants constants;
  constants.local_period = 128;
  constants.global_period = 128;
  constants.raise_steps = 0;
  constants.local_low = 4.0 / 5;
  constants.local_factor = 1.025;
  constants.global_low = 4.0 / 5;
  constants.global_high = 5.0 / 4;
  constants.global_down = 1.036;
  constants.global_up = 1.025;
  constants.balance = SparseBalance::on;
  return constants;
}

}  // namespace weft
