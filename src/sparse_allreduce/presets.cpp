#include "sparse_allreduce/presets.hpp"

#include <weft/core/error.hpp>

#include "sparse_allreduce/phase_timer.hpp"
#include "sparse_allreduce/slots_selection.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace weft {
namespace detail {
namespace {

constexpr SparsePreset presets[] = {
    {"dense", nullptr, run_dense, false},
    {"topk", "exact", run_topka, true},
    {"topkA", "exact", run_topka, true},
    {"topkA2", "exact", run_topka2, true},
    {"topkAopt", "periodic", run_topka, true},
    {"topkSA", "exact", run_topksa, true},
    {"gtopk", "exact", run_gtopk, false},
    {"gaussiank", "gaussian", run_topka, true},
    {"gaussiankconcat", "gaussian", run_topka, true},
    {"gaussiankSA", "gaussian", run_topksa, true},
    {"oktopk", "reused", run_oktopk, true},
    {"auto", "reused", run_auto, true},
};

constexpr SparseSelector selectors[] = {
    {"exact", select_exact, select_exact_in_slots},
    {"reused", select_reused, select_reused_in_slots},
    {"periodic", select_periodic, select_periodic_in_slots},
    {"gaussian", select_gaussian, nullptr},
    {"sampled", select_sampled, select_sampled_in_slots},
    {"chunked", select_chunked, select_chunked_in_slots},
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
  if (context.in_slots) return select_in_slots(context);
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
