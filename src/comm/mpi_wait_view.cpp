#include "comm/mpi_wait_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

namespace weft::detail {
namespace {

// Seconds.

/// Waits shorter than this ask nobody.
constexpr double first_question = 0.2;
/// How often others are asked. With more ranks less often, so that nobody drowns in questions.
double interval_of_questions(int ranks) { return 0.2 * std::max(1.0, ranks / 64.0); }
/// For messages that a rank sent before it left to arrive.
constexpr double arrival = 0.8;
/// For a rank that has failed to say why.
constexpr double last_words = 3;

/// So many questions without an answer mean that there will be none.
constexpr int questions = 3;

/// More missing ranks than this are only counted.
constexpr int most_named = 8;

}  // namespace

bool WaitView::is_missing(int member) const {
  if (member == comm_->rank()) return false;
  if (wait_.call.peer >= 0) return member == wait_.call.peer;
  return peer(member).begun < wait_.call.collective;
}

std::vector<int> WaitView::awaited() const {
  std::vector<int> missing;
  std::vector<int> others;
  for (int member = 0; member < members(); ++member) {
    if (member != comm_->rank()) others.push_back(member);
    if (is_missing(member)) missing.push_back(member);
  }
  return missing.empty() ? others : missing;
}

void WaitView::ask(const ControlSocket& socket) {
  next_question_ = waited_ + interval_of_questions(members());
  for (const int member : awaited()) {
    if (job_rank(member) < 0 || job_rank(member) >= socket.size()) continue;  // of another job
    ++peer(member).unanswered;
    ControlMessage question;
    question.kind = ControlKind::ask;
    question.comm = comm_->id();
    question.member = member;
    socket.send(job_rank(member), question);
  }
}

void WaitView::hear(const ControlMessage& answer) {
  const int member = answer.member;
  if (member < 0 || member >= members() || job_rank(member) != answer.from) return;
  Peer& peer = this->peer(member);
  if (answer.phase == Phase::left && peer.phase != Phase::left) peer.left_at = waited_;
  peer.heard = true;
  peer.heard_at = waited_;
  peer.unanswered = 0;
  peer.phase = answer.phase;
  peer.begun = answer.begun;
  peer.call = answer.call;
  peer.call.back() = '\0';
}

std::optional<Verdict> WaitView::look(double elapsed, double time_limit, const ControlLine& line) {
  const std::uint64_t before = wait_.number;
  wait_ = comm_->wait();
  if (wait_.number != before || wait_.number % 2 == 0) {
    waited_ = 0;
    next_question_ = first_question;
    peers_.clear();
    return std::nullopt;
  }
  waited_ += elapsed;
  if (waited_ < std::min(first_question, time_limit)) return std::nullopt;
  peers_.resize(comm_->members().size());
  if (line.socket != nullptr && waited_ >= next_question_) ask(*line.socket);

  std::optional<Verdict> verdict;
  if (const std::optional<int> member = find_departed()) {
    verdict = {job_rank(*member),
               fmt::format("it left the program while rank {} was waiting for it in {}",
                           job_rank(comm_->rank()), wait_.call.name)};
  } else if (has_waited_too_long(time_limit, line)) {
    verdict = {job_rank(comm_->rank()), describe_timeout(time_limit, line)};
  }
  // The call may have come to its end meanwhile. What was read of it was read before this.
  std::atomic_thread_fence(std::memory_order_acquire);
  return comm_->number() == wait_.number ? verdict : std::nullopt;
}

std::optional<int> WaitView::find_departed() const {
  for (int member = 0; member < members(); ++member) {
    // To begin a collective call is the rank's own doing; a message may still be on its way.
    if (is_missing(member) && peer(member).phase == Phase::left &&
        (wait_.call.peer < 0 || waited_ - peer(member).left_at >= arrival)) {
      return member;
    }
  }
  return std::nullopt;
}

bool WaitView::has_waited_too_long(double time_limit, const ControlLine& line) const {
  bool failing = false;
  bool lost = false;
  for (const int member : awaited()) {
    const Peer& peer = this->peer(member);
    failing = failing || peer.phase == Phase::failed;
    lost = lost || (waited_ - peer.heard_at > time_limit && has_fallen_silent(member, line));
  }
  if (kind_ == Kind::end_of_program) return lost;
  return waited_ > time_limit + (failing ? last_words : 0);
}

bool WaitView::has_fallen_silent(int member, const ControlLine& line) const {
  // A rank that was never heard may be one that no datagram reaches.
  return line.socket != nullptr && peer(member).unanswered >= questions &&
         (peer(member).heard || line.reaches(job_rank(member)));
}

std::string WaitView::describe(int member, const ControlLine& line) const {
  const Peer& peer = this->peer(member);
  const bool silent = has_fallen_silent(member, line);
  if (!silent && !peer.heard) return fmt::format("rank {}", job_rank(member));
  const auto state = [&]() -> std::string {
    if (silent) return "does not answer";
    if (peer.phase == Phase::failed) return "has failed";
    if (peer.phase == Phase::left) return "has left the program";
    if (peer.call.front() != '\0') return fmt::format("in {}", peer.call.data());
    return "outside any call";
  };
  return fmt::format("rank {} ({})", job_rank(member), state());
}

std::string WaitView::describe_timeout(double time_limit, const ControlLine& line) const {
  const std::string place =
      kind_ == Kind::call ? fmt::format("in {}", wait_.call.name) : "at the end of the program";
  std::string whom;
  int count = 0;
  for (const int member : awaited()) {
    // Who has begun the call is to blame only if it has stopped since.
    if (!is_missing(member) && !has_fallen_silent(member, line)) continue;
    if (++count > most_named) continue;
    whom += count == 1 ? " for " : ", ";
    whom += describe(member, line);
  }
  if (count > most_named) whom += fmt::format(" and {} more", count - most_named);
  if (line.socket == nullptr && wait_.call.peer < 0) whom = " for other ranks";
  return fmt::format("waited {:.3g} s{} {}, which is the limit set by WEFT_TIMEOUT", time_limit,
                     whom, place);
}

}  // namespace weft::detail
