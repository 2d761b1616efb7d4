#include "faults/chaos/evaluate.hpp"

#include "faults/chaos/run.hpp"
#include "support/text.hpp"

#include <fmt/core.h>

#include <vector>

namespace weft::chaos {
namespace {

using faults::Ended;

constexpr double most_seconds = 2.0;
constexpr double most_seconds_after_stop = 3.0;  // after the deadline

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

double seconds_between(std::int64_t from, std::int64_t to) {
  return static_cast<double>(to - from) * 1e-9;
}

/// The expected reasons, one of which the other ranks must report.
std::vector<std::string> reasons(const Plan& plan) {
  switch (plan.action) {
    case Action::return_early: return {"left the program"};
    case Action::no_memory: return {"out of memory", "bad_alloc"};
    case Action::stop: return {"WEFT_TIMEOUT"};
    case Action::other_count:
    case Action::other_root:
    case Action::other_kind: return {"ranks disagree about a collective call", "elements for rank"};
    default: return {reason_of(plan)};
  }
}

/// Whether a text names the rank that failed and why.
bool explains(const Plan& plan, const std::string& text) {
  bool named = false;
  for (const char* after : {" ", ":", ",", ";"}) {
    named = named || contains(text + " ", fmt::format("rank {}{}", plan.culprit, after));
  }
  bool reasoned = false;
  for (const std::string& reason : reasons(plan)) reasoned = reasoned || contains(text, reason);
  return named && reasoned;
}

std::string first_lines(const std::string& output) {
  return output.empty() ? "(no output)" : output.substr(0, 600);
}

std::string evaluate_success(const Plan& plan, const Record& record, const Ended& ended) {
  if (ended.code != 0) {
    return fmt::format("exit code {} without a fault: {}", ended.code, first_lines(ended.output));
  }
  for (int rank = 0; rank < plan.ranks; ++rank) {
    if (record.ranks[rank].ending != Ending::returned) {
      return fmt::format("rank {} did not return: {}", rank, record.ranks[rank].text);
    }
  }
  return "";
}

/// On threads, every rank must have thrown the right error in time.
std::string evaluate_ranks(const Plan& plan, const Record& record) {
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const RankRecord& each = record.ranks[rank];
    const double seconds = seconds_between(record.fault_at, each.at);
    if (each.ending == Ending::none) return fmt::format("rank {} recorded no ending", rank);
    if (seconds > most_seconds) return fmt::format("rank {} ended after {:.2f} s", rank, seconds);
    const bool may_return = plan.action == Action::drop_request || rank == plan.culprit;
    if (each.ending == Ending::returned && !may_return) {
      return fmt::format("rank {} returned without an error", rank);
    }
    if (each.ending == Ending::failed && rank != plan.culprit && !explains(plan, each.text)) {
      return fmt::format("the error of rank {} does not name the failed rank and the reason: {}",
                         rank, each.text);
    }
  }
  return "";
}

}  // namespace

std::string evaluate(const Plan& plan, bool mpi, double deadline, const Record& record,
                     const Ended& ended) {
  if (record.wrong_data) {
    std::string text = "wrong data";
    for (int rank = 0; rank < plan.ranks; ++rank) {
      text += fmt::format("; rank {}: {}", rank, record.ranks[rank].text);
    }
    return text;
  }
  if (ended.hung) return "timeout; " + first_lines(ended.output);
  if (ended.signal != 0) {
    return fmt::format("signal {}; {}", ended.signal, first_lines(ended.output));
  }
  if (record.fault_at == 0) return evaluate_success(plan, record, ended);
  const double seconds = seconds_between(record.fault_at, ended.at);
  const double most =
      plan.action == Action::stop ? most_seconds_after_stop + deadline : most_seconds;
  if (seconds > most) return fmt::format("it ended {:.2f} s after the fault", seconds);

  if (plan.action == Action::no_memory && ended.code == 0) {
    return evaluate_success(plan, record, ended);  // the rank needed no further allocation
  }
  if (plan.action == Action::exit || plan.action == Action::quit) {
    const bool right = mpi ? ended.code != 0 : ended.code == exit_code;
    return right ? "" : fmt::format("exit code {}", ended.code);
  }
  const bool right_code = mpi ? ended.code != 0 : ended.code == 1;
  if (!right_code) return fmt::format("exit code {}: {}", ended.code, first_lines(ended.output));
  if (!explains(plan, ended.output)) return "the message is " + first_lines(ended.output);
  if (test::occurrences(ended.output, "weft: ") != 1) {
    return "messages: " + first_lines(ended.output);
  }
  return mpi ? "" : evaluate_ranks(plan, record);
}

}  // namespace weft::chaos
