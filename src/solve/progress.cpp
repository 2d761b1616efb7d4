#include "solve/progress.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

std::string bar(double fraction) {
  constexpr int width = 24;
  const int done = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * width);
  return fmt::format("[{:#<{}}{:.<{}}]", "", done, "", width - done);
}

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(std::string name, index_t max_iterations)
    : name_(std::move(name)),
      max_iterations_(max_iterations),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      next_(Clock::now()) {}

void Progress::resume_from(index_t iteration, double seconds) {
  first_iteration_ = iteration;
  first_seconds_ = seconds;
}

std::string Progress::line(const SolverStatus& status) const {
  const auto done = static_cast<double>(status.iteration);
  const auto all = static_cast<double>(max_iterations_);
  std::string text = fmt::format("{}: ", name_);
  if (on_terminal_) text += bar(done / all) + ' ';
  text += fmt::format("{} of {} iterations, |r| = {:.3e}, |g| = {:.3e}", status.iteration,
                      max_iterations_, status.residual_norm, status.gradient_norm);
  const double seconds = status.seconds - first_seconds_;
  if (status.iteration > first_iteration_ && seconds > 0) {
    const double rate = static_cast<double>(status.iteration - first_iteration_) / seconds;
    text += fmt::format(", {:.3g}/s, at most {} left", rate, duration((all - done) / rate));
  }
  return text;
}

void Progress::show(const SolverStatus& status) {
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + (on_terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(5));
  if (on_terminal_) {
    fmt::print(stderr, "\r{}\033[K", line(status));
  } else {
    fmt::print(stderr, "{}\n", line(status));
  }
  std::fflush(stderr);
}

void Progress::finish(const SolverStatus& status, const std::string& message) {
  const std::string in_this_run =
      first_iteration_ == 0
          ? ""
          : fmt::format(", {} of them in this run,", status.iteration - first_iteration_);
  fmt::print(stderr, "{}{}: {}, after {} iterations{} and {}\n", on_terminal_ ? "\r\033[K" : "",
             name_, message, status.iteration, in_this_run, duration(status.seconds));
  std::fflush(stderr);
}

}  // namespace weft::detail
