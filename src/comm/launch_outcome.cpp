#include "comm/launch_outcome.hpp"

#include <weft/core/error.hpp>

#include "comm/error_texts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <thread>

namespace weft::detail {
namespace {

/// Sets the text of an error if there is memory for it.
void set_text(std::string& text, const char* value) noexcept {
  try {
    text = value;
  } catch (const std::bad_alloc&) {
    text = no_memory_text;
  }
}

}  // namespace

void print_error(const std::string& text) {
  // One write, so that lines of several ranks do not mix; several if there is no memory for one.
  try {
    const std::string line = "weft: " + text + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::bad_alloc&) {
    for (const char* part : {"weft: ", text.c_str(), "\n"}) std::fputs(part, stderr);
  }
  std::fflush(stderr);
}

int usage_error(const Task& task, const std::string& error, ErrorScope scope) {
  using namespace std::chrono_literals;
  // Ranks cannot communicate yet, so the rank given by the launcher decides which one prints. The
  // launcher may end the job at the first failing exit, so the others give rank 0 time to print.
  if (task.rank == 0) {
    print_error(error);
    return usage_code;
  }
  std::this_thread::sleep_for(1s);
  if (scope == ErrorScope::job) return usage_code;
  // The job still runs, so rank 0 had no error.
  std::this_thread::sleep_for(task.rank * 20ms);
  const std::string size = task.size > 0 ? fmt::format(" of {}", task.size) : "";
  print_error(fmt::format("rank {}{}: {}", task.rank, size, error));
  return usage_code;
}

Outcome outcome_of(int rank) {
  Outcome outcome;
  outcome.failed = true;
  outcome.rank = rank;
  outcome.code = error_code;
  try {
    throw;
  } catch (const AbortedError& aborted) {
    outcome.aborted = true;
    outcome.rank = aborted.failed_rank();
    set_text(outcome.message, aborted.reason().c_str());
  } catch (const AgreedError& agreed) {
    outcome.agreed = true;
    set_text(outcome.message, agreed.what());
  } catch (const std::bad_alloc&) {
    set_text(outcome.message, no_memory_text);
  } catch (const std::exception& other) {
    set_text(outcome.message, other.what());
  } catch (...) {
    set_text(outcome.message, unknown_exception_text);
  }
  return outcome;
}

Outcome outcome_of(int rank, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    return outcome_of(rank);
  }
}

int conclude(const std::vector<Outcome>& outcomes, int first) {
  if (first < 0) {
    return std::max_element(outcomes.begin(), outcomes.end(),
                            [](const auto& a, const auto& b) { return a.code < b.code; })
        ->code;
  }
  const Outcome& cause = outcomes[static_cast<std::size_t>(first)];
  const bool same = std::all_of(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
    return outcome.failed && !outcome.aborted && outcome.message == cause.message;
  });
  if (same || cause.agreed) {
    print_error(cause.message);
  } else {
    std::string text = cause.message;
    try {
      text = fmt::format("rank {} of {} failed: {}", cause.rank, outcomes.size(), cause.message);
    } catch (const std::bad_alloc&) {
      // The message alone.
    }
    print_error(text);
  }
  return error_code;
}

}  // namespace weft::detail
