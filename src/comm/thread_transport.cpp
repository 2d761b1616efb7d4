#include "comm/thread_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/error_texts.hpp"
#include "comm/memory_ops.hpp"
#include "comm/number_list.hpp"
#include "core/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>

namespace weft::detail {
namespace {

/// A text without allocation: a wait must not end with an allocation error while peers still read
/// memory that the caller would then release.
class ShortText {
 public:
  template <class... Parts>
  void append(const Parts&... parts) {
    (add(parts), ...);
  }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  void add(std::string_view text) {
    size_ += text.copy(text_.data() + size_, text_.size() - size_);
  }
  void add(int number) { add_number(number); }
  void add(double number) { add_number(number, std::chars_format::general, 3); }
  template <class... Args>
  void add_number(Args... args) {
    std::array<char, 24> digits;
    const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), args...);
    add(std::string_view(digits.data(), result.ptr));
  }

  std::array<char, 400> text_;
  std::size_t size_ = 0;
};

}  // namespace

template <class Done>
void ThreadTransport::wait_until(const Ticket& ticket, Done done) {
  Waiter waiter(oversubscribed_);
  for (;;) {
    progress_all();
    const bool complete = done();
    if (!complete && !waiter.pause()) continue;
    // Also after completion: a peer that saw a failure skipped its share of the work.
    throw_if_failed();
    if (complete) return;
    fail_if_departed(ticket);
    if (waiter.waited() > wait_limit()) time_out(ticket);
  }
}

void ThreadTransport::wait(const Ticket& ticket) {
  wait_until(ticket, [&] { return is_complete(ticket); });
  order_after(ticket);
}

std::string_view ThreadTransport::call_of(const Ticket& ticket) {
  if (outer_call() != nullptr) return outer_call();
  switch (ticket.kind) {
    case sending:
    case gpu_sending: return to_string(CallKind::send);
    case receiving: return to_string(CallKind::recv);
    default: break;
  }
  // Collectives are worked on in order: the first incomplete one.
  return to_string(slot(rank(), std::min(worked_, ticket.id - 1)).call.kind);
}

bool ThreadTransport::waits_for(int peer, const Ticket& ticket) {
  switch (ticket.kind) {
    case sending:
    case gpu_sending:
      return peer == ticket.peer && team_->mailbox(rank(), peer).taken() < ticket.id;
    case receiving: return peer == ticket.peer && !team_->mailbox(peer, rank()).has_message();
    default: break;
  }
  if (worked_ < ticket.id) {
    return slot(peer, worked_).number.load(std::memory_order_acquire) <= worked_;
  }
  return team_->board(peer).worked.load(std::memory_order_acquire) < ticket.id;
}

void ThreadTransport::fail_if_departed(const Ticket& ticket) {
  if (!job().anyone_departed()) [[likely]]
    return;
  for (int peer = 0; peer < size(); ++peer) {
    // In this order: calls that a rank made before it left are not failures.
    if (!job().has_departed(job_rank(peer)) || !waits_for(peer, ticket)) continue;
    ShortText text;
    text.append("it left the program while rank ", job_rank(), " was waiting for it in ",
                call_of(ticket));
    job().raise(job_rank(peer), text.view());
    throw_failure();
  }
}

void ThreadTransport::time_out(const Ticket& ticket) {
  ShortText text;
  text.append("waited ", wait_limit().count(), " s for ");
  int missing = 0;
  for (int peer = 0; peer < size(); ++peer) missing += waits_for(peer, ticket) ? 1 : 0;
  text.append(missing == 1 ? "rank " : "ranks ");
  const auto is_missing = [&](int rank) {
    int peer = 0;
    while (peer < size() && job_rank(peer) != rank) ++peer;
    return peer < size() && waits_for(peer, ticket);
  };
  list_numbers(job().ranks(), is_missing,
               [&](const char* separator, int rank) { text.append(separator, rank); });
  text.append(" in ", call_of(ticket), ", which is the limit set by WEFT_TIMEOUT");
  stop(text.view());
  throw TimeoutError(std::string(text.view()));
}

void ThreadTransport::throw_failure() {
  quiesce();
  job().rethrow(job_rank());
}

void ThreadTransport::quiesce() noexcept {
  // The caller will release its memory. Peers that marked themselves busy before they could see
  // that the job has stopped are still copying; all others see it before they access memory.
  for (int peer = 0; peer < size(); ++peer) {
    Waiter waiter(oversubscribed_);
    while (peer != rank() && team_->board(peer).busy.load()) waiter.pause();
  }
#if defined(WEFT_WITH_CUDA)
  if (gpu_) cuda_drain(*gpu_);
#endif
}

void ThreadTransport::stop(std::string_view reason) noexcept {
  job().raise(job_rank(), reason);
  // In all transports: this rank may wait in a call of another one.
  for (ThreadTransport* transport : *siblings_) transport->quiesce();
}

void ThreadTransport::order_after(const Ticket& ticket) {
  if (ticket.kind == gpu_sending) {
    Stream::current(*gpu_).wait(team_->mailbox(rank(), ticket.peer).read);
  } else if (ticket.kind == gpu_collective) {
    const Stream stream = Stream::current(*gpu_);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank()) stream.wait(slot(peer, ticket.id - 1).done);
    }
  }
}

Ticket ThreadTransport::begin(const CollectiveCall& call, CallMode mode) {
  throw_if_failed();
  const std::uint64_t sequence = announced_;
  if (sequence >= collective_depth) {
    const std::uint64_t oldest = sequence - collective_depth + 1;
    wait_until({.kind = collective, .peer = 0, .id = oldest}, [&] { return all_worked(oldest); });
  }
  Slot& mine = slot(rank(), sequence);
  mine.call = call;
  mine.worked = worked_;
  mine.tag = tag_of(call);
  if (call.eager && call.in.count > 0) {
    std::memcpy(mine.payload.data(), call.in.data, static_cast<std::size_t>(call.in.bytes()));
  }
  if (on_gpu(call.in.where)) mine.ready.record(gpu_stream(call.in.where));
  mine.number.store(sequence + 1, std::memory_order_release);
  ++announced_;
  if (call.eager) prefetch_next_slot(call.in.bytes());

  const Ticket ticket = {
      .kind = on_gpu(call.in.where) ? gpu_collective : collective, .peer = 0, .id = sequence + 1};
  if (mode == CallMode::nonblocking) return ticket;
  wait(ticket);
  return {};
}

void ThreadTransport::prefetch_next_slot(index_t bytes) {
  // The peers still hold its cache lines. Prefetching them while waiting is free; otherwise the
  // stores of the next call would miss one after the other.
  constexpr index_t line = 64;
  auto* next = reinterpret_cast<std::byte*>(&slot(rank(), announced_));
  for (index_t at = 0; at < bytes + line; at += line) __builtin_prefetch(next + at, 1);
}

bool ThreadTransport::is_complete(const Ticket& ticket) {
  if (ticket.id == 0) return true;
  switch (ticket.kind) {
    case sending:
    case gpu_sending: return team_->mailbox(rank(), ticket.peer).taken() >= ticket.id;
    case receiving: return expected_[static_cast<std::size_t>(ticket.peer)].arrived >= ticket.id;
    default: break;
  }
  if (worked_ < ticket.id) return false;
  const Slot& mine = slot(rank(), ticket.id - 1);
  const bool reused = mine.number.load(std::memory_order_relaxed) != ticket.id;
  return reused || mine.call.eager || all_worked(ticket.id);
}

bool ThreadTransport::all_worked(std::uint64_t collectives) {
  if (known_worked_ >= collectives) return true;
  std::uint64_t least = worked_;
  for (int peer = 0; peer < size() && least >= collectives; ++peer) {
    if (peer == rank()) continue;
    least = std::min(least, team_->board(peer).worked.load(std::memory_order_acquire));
  }
  if (least < collectives) return false;
  known_worked_ = least;
  return true;
}

bool ThreadTransport::all_announced(std::uint64_t sequence) {
  for (; seen_ranks_ < size(); ++seen_ranks_) {
    if (slot(seen_ranks_, sequence).number.load(std::memory_order_acquire) <= sequence)
      return false;
  }
  return true;
}

void ThreadTransport::progress_calls() {
  try {
    while (worked_ < announced_ && all_announced(worked_)) {
      work(slot(rank(), worked_).call, worked_);
      board_.worked.store(++worked_, std::memory_order_release);
      seen_ranks_ = 0;
    }
    if (expecting_ > 0) progress_messages();
  } catch (const std::bad_alloc&) {
    // This rank has not done its share, so no rank can continue; and this one must wait until the
    // others no longer access its memory.
    stop(no_memory_text);
    throw;
  } catch (const std::exception& error) {
    stop(error.what());
    throw;
  } catch (...) {
    stop(unknown_exception_text);
    throw;
  }
}

std::shared_ptr<Transport> ThreadTransport::split(int color, int key) {
  struct Choice {
    std::int64_t color;
    std::int64_t key;
    std::int64_t rank;
  };
  constexpr index_t words = sizeof(Choice) / sizeof(std::int64_t);
  Parts parts;
  parts.make_even(size(), words);
  const CallScope scope(*this, "split");
  const Choice mine = {color, key, rank()};
  std::vector<Choice> choices(static_cast<std::size_t>(size()));
  all_gather(ConstBufferRef(&mine.color, words), BufferRef(&choices[0].color, parts.extent()),
             parts, CallMode::blocking);

  std::erase_if(choices, [&](const Choice& choice) { return choice.color != color; });
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.key < b.key; });
  std::vector<int> members;
  int position = 0;
  for (const Choice& choice : choices) {
    if (choice.rank == rank()) position = static_cast<int>(members.size());
    members.push_back(job_rank(static_cast<int>(choice.rank)));
  }
  std::shared_ptr<ThreadTeam>& handed_over =
      team_->split_off[static_cast<std::size_t>(choices.front().rank)];
  if (position == 0 && color >= 0) {
    handed_over = std::make_shared<ThreadTeam>(members, team_->job);
  }
  barrier(CallMode::blocking);
  const std::shared_ptr<ThreadTeam> team = handed_over;
  barrier(CallMode::blocking);
  if (position == 0) handed_over = nullptr;
  return color < 0 ? nullptr : std::make_shared<ThreadTransport>(team, position, siblings_);
}

void require_thread_ranks(int ranks) {
  require(ranks >= 1 && ranks <= max_thread_ranks,
          "the number of thread ranks must be 1 to {}, got {}", max_thread_ranks, ranks);
}

std::vector<std::shared_ptr<Transport>> make_thread_team(int ranks) {
  require_thread_ranks(ranks);
  wait_limit();  // throws here, not in a wait
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto team = std::make_shared<ThreadTeam>(members, std::make_shared<ThreadJob>(ranks));
  std::vector<std::shared_ptr<Transport>> transports;
  transports.reserve(members.size());
  for (int rank = 0; rank < ranks; ++rank) {
    transports.push_back(
        std::make_shared<ThreadTransport>(team, rank, std::make_shared<RankTransports>()));
  }
  return transports;
}

void depart_from_team(Transport& transport) noexcept {
  auto& rank = static_cast<ThreadTransport&>(transport);
  rank.job().depart(rank.job_rank());
}

void throw_unreported_failure(Transport& transport) {
  static_cast<ThreadTransport&>(transport).job().throw_if_unreported();
}

}  // namespace weft::detail
