#include "comm/mpi_wait_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

namespace weft::detail {
namespace {

// Seconds.

/// Shorter waits send no queries.
constexpr double first_query = 0.2;
/// The time between queries; longer with more ranks, to limit the traffic.
double query_interval(int ranks) { return 0.2 * std::max(1.0, ranks / 64.0); }
/// Time for messages to arrive that a rank sent before it left.
constexpr double message_grace = 0.8;
/// Time for a failed rank to report its error.
constexpr double error_grace = 3;

/// A rank that left this many queries unanswered does not respond.
constexpr int max_unanswered = 3;

/// Further missing ranks are only counted.
constexpr int max_named = 8;

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

void WaitView::send_queries(const ControlSocket& socket) {
  next_query_ = waited_ + query_interval(members());
  for (const int member : awaited()) {
    if (job_rank(member) < 0 || job_rank(member) >= socket.size()) continue;  // not in this job
    ++peer(member).unanswered;
    ControlMessage query;
    query.kind = ControlKind::query;
    query.comm = comm_->id();
    query.member = member;
    socket.send(job_rank(member), query);
  }
}

void WaitView::handle_reply(const ControlMessage& answer) {
  const int member = answer.member;
  if (member < 0 || member >= members() || job_rank(member) != answer.from) return;
  Peer& peer = this->peer(member);
  if (answer.phase == Phase::left && peer.phase != Phase::left) peer.left_at = waited_;
  peer.responded = true;
  peer.last_response = waited_;
  peer.unanswered = 0;
  peer.phase = answer.phase;
  peer.begun = answer.begun;
  peer.call = answer.call;
  peer.call.back() = '\0';
}

std::optional<JobFailure> WaitView::check(double elapsed, double time_limit,
                                          const ControlLine& line) {
  const std::uint64_t before = wait_.number;
  wait_ = comm_->wait();
  if (wait_.number != before || wait_.number % 2 == 0) {
    waited_ = 0;
    next_query_ = first_query;
    peers_.clear();
    return std::nullopt;
  }
  waited_ += elapsed;
  if (waited_ < std::min(first_query, time_limit)) return std::nullopt;
  peers_.resize(comm_->members().size());
  if (line.socket != nullptr && waited_ >= next_query_) send_queries(*line.socket);

  std::optional<JobFailure> failure;
  if (const std::optional<int> member = find_departed()) {
    failure = {job_rank(*member),
               fmt::format("it left the program while rank {} was waiting for it in {}",
                           job_rank(comm_->rank()), wait_.call.name)};
  } else if (has_waited_too_long(time_limit, line)) {
    failure = {job_rank(comm_->rank()), describe_timeout(time_limit, line)};
  }
  // The call may have ended meanwhile. The fence orders this check after the reads above.
  std::atomic_thread_fence(std::memory_order_acquire);
  return comm_->number() == wait_.number ? failure : std::nullopt;
}

std::optional<int> WaitView::find_departed() const {
  for (int member = 0; member < members(); ++member) {
    // A rank that left cannot begin a collective any more, but a message may still arrive.
    if (is_missing(member) && peer(member).phase == Phase::left &&
        (wait_.call.peer < 0 || waited_ - peer(member).left_at >= message_grace)) {
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
    lost = lost || (waited_ - peer.last_response > time_limit && is_unresponsive(member, line));
  }
  if (kind_ == Kind::end_of_program) return lost;
  return waited_ > time_limit + (failing ? error_grace : 0);
}

bool WaitView::is_unresponsive(int member, const ControlLine& line) const {
  // Without any response, datagrams may not reach the rank at all.
  return line.socket != nullptr && peer(member).unanswered >= max_unanswered &&
         (peer(member).responded || line.reaches(job_rank(member)));
}

std::string WaitView::describe(int member, const ControlLine& line) const {
  const Peer& peer = this->peer(member);
  const bool silent = is_unresponsive(member, line);
  if (!silent && !peer.responded) return fmt::format("rank {}", job_rank(member));
  const auto state = [&]() -> std::string {
    if (silent) return "does not respond";
    if (peer.phase == Phase::failed) return "has failed";
    if (peer.phase == Phase::left) return "has left the program";
    if (peer.call.front() != '\0') return fmt::format("in {}", peer.call.data());
    return "outside any call";
  };
  return fmt::format("rank {} ({})", job_rank(member), state());
}

std::string WaitView::describe_timeout(double time_limit, const ControlLine& line) const {
  const std::string where =
      kind_ == Kind::call ? fmt::format("in {}", wait_.call.name) : "at the end of the program";
  std::string ranks;
  int count = 0;
  for (const int member : awaited()) {
    // A rank that has begun the call is named only if it does not respond.
    if (!is_missing(member) && !is_unresponsive(member, line)) continue;
    if (++count > max_named) continue;
    ranks += count == 1 ? " for " : ", ";
    ranks += describe(member, line);
  }
  if (count > max_named) ranks += fmt::format(" and {} more", count - max_named);
  if (line.socket == nullptr && wait_.call.peer < 0) ranks = " for other ranks";
  return fmt::format("waited {:.3g} s{} {}, which is the limit set by WEFT_TIMEOUT", time_limit,
                     ranks, where);
}

}  // namespace weft::detail
