#include "comm/thread_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"
#include "comm/reduction_kernels.hpp"
#include "comm/thread_team.hpp"
#include "comm/waiter.hpp"
#include "core/cuda_device.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace weft::detail {
namespace {

enum TicketKind : std::int32_t { collective, gpu_collective, sending, gpu_sending, receiving };

bool on_gpu(Device device) { return device.kind == DeviceKind::cuda; }

/// What ranks that make the same call have in common. Ranks that do not are told so before one
/// reads or writes beyond the end of another's memory. (Lengths of single parts are compared
/// apart.)
std::uint64_t tag_of(const CollectiveCall& call) {
  const bool has_parts =
      call.in_parts != nullptr || call.out_parts != nullptr || call.reader != nullptr;
  std::uint64_t tag = has_parts && !call.eager ? 0 : static_cast<std::uint64_t>(call.in.count);
  for (const auto field : {static_cast<unsigned>(call.kind), static_cast<unsigned>(call.in.dtype),
                           static_cast<unsigned>(call.op), static_cast<unsigned>(call.root),
                           static_cast<unsigned>(call.in.where.kind), call.eager ? 1U : 0U}) {
    tag = tag * 31 + field;
  }
  return tag;
}

/// A message this rank expects: where it goes, or who reads it.
struct Awaited {
  Memory room;
  PeerReader* reader = nullptr;
};

/// Messages this rank expects from one peer, in order.
struct Expected {
  std::vector<Awaited> ring = std::vector<Awaited>(4);
  std::uint64_t begun = 0;
  std::uint64_t arrived = 0;

  void push(const Awaited& awaited) {
    if (begun - arrived == ring.size()) {
      std::vector<Awaited> larger(2 * ring.size());
      for (std::uint64_t i = arrived; i < begun; ++i) {
        larger[i % larger.size()] = ring[i % ring.size()];
      }
      ring = std::move(larger);
    }
    ring[begun++ % ring.size()] = awaited;
  }
  bool pending() const { return arrived < begun; }
  const Awaited& front() const { return ring[arrived % ring.size()]; }
};

class ThreadTransport;

/// All transports of one rank. While it waits in one of them it must do its share in the others
/// too, or ranks that wait in different orders would wait for each other.
using RankTransports = std::vector<ThreadTransport*>;

/// Ranks are threads of one process, and read each other's memory directly.
///
/// A collective has two moments: a rank *announces* it in its slot, and once all have, it *works*:
/// it does its own share of reading peers' memory, and of writing it. The call is complete when all
/// ranks have worked, or, if the data travelled in the slots, when this one has.
///
/// On a GPU the same happens, but working is issuing work to this rank's stream. Ranks do not wait
/// for the GPU; their streams wait for each other's events.
class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadTeam> team, int rank,
                  std::shared_ptr<RankTransports> siblings)
      : Transport(rank, team->size()),
        team_(std::move(team)),
        siblings_(std::move(siblings)),
        board_(team_->board(rank)),
        oversubscribed_(team_->job_ranks > available_cores()),
        expected_(static_cast<std::size_t>(size())),
        inputs_(static_cast<std::size_t>(size())),
        outputs_(static_cast<std::size_t>(size())) {
    siblings_->push_back(this);
  }
  ~ThreadTransport() override { std::erase(*siblings_, this); }
  ThreadTransport(const ThreadTransport&) = delete;
  ThreadTransport& operator=(const ThreadTransport&) = delete;

  std::string_view name() const override { return "thread"; }
  /// GPU memory is only given to it if all ranks are on the same GPU.
  bool accepts(Device device) const override {
    return !on_gpu(device) || size() <= kernels::most_gpu_inputs;
  }
  std::shared_ptr<Transport> split(int color, int key) override;

  Ticket barrier(When when) override { return begin({.kind = CallKind::barrier}, 0, when); }
  Ticket broadcast(Memory data, int root, When when) override {
    return begin({.kind = CallKind::broadcast, .root = root, .in = data, .out = data}, data.bytes(),
                 when);
  }
  Ticket allreduce(ConstMemory in, Memory out, ReduceOp op, When when) override {
    return begin({.kind = CallKind::allreduce, .op = op, .in = in, .out = out}, in.bytes(), when);
  }
  Ticket reduce(ConstMemory in, Memory out, ReduceOp op, int root, When when) override {
    return begin({.kind = CallKind::reduce, .op = op, .root = root, .in = in, .out = out}, when);
  }
  Ticket reduce_scatter(ConstMemory in, const Parts& parts, Memory out, ReduceOp op,
                        When when) override {
    return begin(
        {.kind = CallKind::reduce_scatter, .op = op, .in = in, .out = out, .in_parts = &parts},
        when);
  }
  Ticket all_gather(ConstMemory in, Memory out, const Parts& parts, When when) override {
    const CollectiveCall call = {
        .kind = CallKind::all_gather, .in = in, .out = out, .out_parts = &parts};
    return parts.even() ? begin(call, in.bytes(), when) : begin(call, when);
  }
  Ticket gather(ConstMemory in, Memory out, const Parts& parts, int root, When when) override {
    return begin(
        {.kind = CallKind::gather, .root = root, .in = in, .out = out, .out_parts = &parts}, when);
  }
  Ticket scatter(ConstMemory in, const Parts& parts, Memory out, int root, When when) override {
    return begin(
        {.kind = CallKind::scatter, .root = root, .in = in, .out = out, .in_parts = &parts}, when);
  }
  Ticket all_to_all(ConstMemory in, const Parts& sent, Memory out, const Parts& received,
                    When when) override {
    return begin({.kind = CallKind::all_to_all,
                  .in = in,
                  .out = out,
                  .in_parts = &sent,
                  .out_parts = &received},
                 when);
  }

  bool shares_memory() const override { return true; }
  void read_peers(ConstMemory mine, PeerReader& reader) override {
    begin({.kind = CallKind::all_to_all, .in = mine, .reader = &reader}, When::now);
  }

  Ticket send(ConstMemory data, int to) override {
    leave_if_failed();
    Mailbox& mailbox = team_->mailbox(rank(), to);
    const bool gpu = on_gpu(data.where);
    if (gpu) mailbox.ready.record(gpu_stream(data.where));
    return {.kind = gpu ? gpu_sending : sending, .peer = to, .id = mailbox.post(data)};
  }
  Ticket recv(Memory data, int from) override { return expect({data, nullptr}, from); }
  Ticket read(Memory like, int from, PeerReader& reader) override {
    return expect({like, &reader}, from);
  }

  bool test(const Ticket& ticket) override {
    progress_all();
    const bool complete = is_complete(ticket);
    leave_if_failed();
    if (complete) order_after(ticket);
    return complete;
  }
  void wait(const Ticket& ticket) override {
    wait_until([&] { return is_complete(ticket); });
    order_after(ticket);
  }
  void leave_if_failed() override {
    if (team_->failure->raised()) [[unlikely]]
      leave();
  }
  void abort(const std::string& reason) noexcept override {
    team_->failure->raise(world_rank(), reason);
  }

 private:
  int world_rank() const { return team_->world_ranks[static_cast<std::size_t>(rank())]; }
  Slot& slot(int peer, std::uint64_t sequence) {
    return team_->board(peer).slots[sequence % collective_depth];
  }

  Ticket expect(const Awaited& awaited, int from) {
    leave_if_failed();
    Expected& expected = expected_[static_cast<std::size_t>(from)];
    expected.push(awaited);
    ++expecting_;
    return {.kind = receiving, .peer = from, .id = expected.begun};
  }
  /// Announces a collective whose data peers read from where it is.
  Ticket begin(const CollectiveCall& call, When when);
  /// Announces one whose `bytes` of data go into the slot if there is room.
  Ticket begin(CollectiveCall call, index_t bytes, When when) {
    call.eager =
        call.in.where.host_accessible() && bytes <= static_cast<index_t>(sizeof(Slot::payload));
    return begin(call, when);
  }

  /// This rank's stream on its GPU, which is remembered.
  Stream gpu_stream(Device device) {
    gpu_ = device;
    return Stream::current(device);
  }
  /// What this rank issues from now on waits until peers are done with its memory.
  void order_after(const Ticket& ticket);

  void prefetch_next_slot(index_t bytes);
  bool is_complete(const Ticket& ticket);
  bool all_worked(std::uint64_t collectives);
  bool all_announced(std::uint64_t sequence);

  /// Does this rank's share of everything that is ready, here and in its other transports. Never
  /// waits.
  void progress_all() {
    for (ThreadTransport* transport : *siblings_) transport->progress();
  }
  void progress();
  void progress_messages();
  /// Takes the message at the front of a mailbox.
  void take(Mailbox& mailbox, int peer, ConstMemory from, const Awaited& awaited);
  void work(const CollectiveCall& call, std::uint64_t sequence);
  void work_eagerly(const CollectiveCall& call, std::uint64_t sequence);
  void work_on_memory(const CollectiveCall& call, std::uint64_t sequence);
  void reduce_slice(const CollectiveCall& call, std::uint64_t sequence);
  void reduce_part(const CollectiveCall& call, std::uint64_t sequence);
  void collect_parts(const CollectiveCall& call, std::uint64_t sequence);

  template <class Done>
  void wait_until(Done done);
  [[noreturn]] void leave();
  /// Returns when no peer touches this rank's memory. Only after a failure was raised.
  void quiesce();
  void require_same_part(int peer, index_t theirs, index_t mine) const;

  std::shared_ptr<ThreadTeam> team_;
  std::shared_ptr<RankTransports> siblings_;
  RankBoard& board_;
  bool oversubscribed_;

  std::uint64_t announced_ = 0;
  std::uint64_t worked_ = 0;
  /// Every rank has worked through at least this many collectives.
  std::uint64_t known_worked_ = 0;
  /// Ranks below this one have announced the collective that is to be worked next.
  int seen_ranks_ = 0;

  std::vector<Expected> expected_;
  index_t expecting_ = 0;

  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::optional<Device> gpu_;  // once its memory has been used
};

/// Marks that this rank touches peers' memory, so that none of them releases it: see leave().
class BusyMark {
 public:
  explicit BusyMark(std::atomic<bool>& busy) : busy_(busy) { busy_.store(true); }
  ~BusyMark() { busy_.store(false, std::memory_order_release); }
  BusyMark(const BusyMark&) = delete;
  BusyMark& operator=(const BusyMark&) = delete;

 private:
  std::atomic<bool>& busy_;
};

template <class Done>
void ThreadTransport::wait_until(Done done) {
  Waiter waiter(oversubscribed_);
  for (;;) {
    progress_all();
    const bool complete = done();
    if (!complete && !waiter.pause()) continue;
    // Also after completion: a peer that saw a failure has skipped its share of the work.
    leave_if_failed();
    if (complete) return;
    if (waiter.waited() > wait_limit()) {
      const std::string reason =
          fmt::format("waited {:.0f} s for other ranks, which is the limit set by WEFT_TIMEOUT",
                      wait_limit().count());
      abort(reason);
      quiesce();
      throw TimeoutError(fmt::format("rank {}: {}", world_rank(), reason));
    }
  }
}

void ThreadTransport::leave() {
  quiesce();
  team_->failure->rethrow();
}

void ThreadTransport::quiesce() {
  // The caller will release its memory. Whoever marked itself busy before it could see the failure
  // is still copying; everyone else sees the failure before touching anything.
  for (int peer = 0; peer < size(); ++peer) {
    Waiter waiter(oversubscribed_);
    while (peer != rank() && team_->board(peer).busy.load()) waiter.pause();
  }
#if defined(WEFT_WITH_CUDA)
  if (gpu_) cuda_drain(*gpu_);
#endif
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

void ThreadTransport::require_same_part(int peer, index_t theirs, index_t mine) const {
  if (theirs == mine) [[likely]]
    return;
  throw CommError(fmt::format("rank {} has {} elements for rank {}, which expects {}", peer, theirs,
                              rank(), mine));
}

Ticket ThreadTransport::begin(const CollectiveCall& call, When when) {
  leave_if_failed();
  const std::uint64_t sequence = announced_;
  if (sequence >= collective_depth) {
    wait_until([&] { return all_worked(sequence - collective_depth + 1); });
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
  if (when == When::later) return ticket;
  wait(ticket);
  return {};
}

void ThreadTransport::prefetch_next_slot(index_t bytes) {
  // The peers still hold its cache lines. Fetching them back while waiting costs nothing; fetching
  // them one after the other when the next call stores into them would.
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

void ThreadTransport::progress() {
  try {
    while (worked_ < announced_ && all_announced(worked_)) {
      work(slot(rank(), worked_).call, worked_);
      board_.worked.store(++worked_, std::memory_order_release);
      seen_ranks_ = 0;
    }
    if (expecting_ > 0) progress_messages();
  } catch (const CommError& error) {
    // Ranks that disagree cannot go on; nor can this one before the others have let go.
    abort(error.what());
    quiesce();
    throw;
  }
}

void ThreadTransport::progress_messages() {
  for (int peer = 0; peer < size(); ++peer) {
    Expected& expected = expected_[static_cast<std::size_t>(peer)];
    Mailbox& mailbox = team_->mailbox(peer, rank());
    while (expected.pending() && mailbox.has_message()) {
      const Awaited awaited = expected.front();
      const index_t room = awaited.room.bytes();
      index_t sent = 0;
      {
        const BusyMark busy(board_.busy);
        if (team_->failure->raised()) break;
        const ConstMemory from = mailbox.front();
        sent = from.bytes();
        if (sent == room) take(mailbox, peer, from, awaited);
        mailbox.pop();
      }
      ++expected.arrived;
      --expecting_;
      if (sent != room) {
        throw CommError(fmt::format("rank {} sent {} bytes to rank {}, which was to receive {}",
                                    peer, sent, rank(), room));
      }
    }
  }
}

void ThreadTransport::take(Mailbox& mailbox, int peer, ConstMemory from, const Awaited& awaited) {
  const auto get = [&] {
    if (awaited.reader != nullptr) {
      awaited.reader->read(peer, from.data);
    } else {
      copy(from, awaited.room);
    }
  };
  const Device to = awaited.room.where;
  if (!on_gpu(from.where) && !on_gpu(to)) {
    get();
    return;
  }
  const Stream stream = gpu_stream(on_gpu(to) ? to : from.where);
  if (on_gpu(from.where)) stream.wait(mailbox.ready);
  get();
  mailbox.read.record(stream);
}

void ThreadTransport::work(const CollectiveCall& call, std::uint64_t sequence) {
  const std::uint64_t tag = slot(rank(), sequence).tag;
  for (int peer = 0; peer < size(); ++peer) {
    if (slot(peer, sequence).tag == tag) continue;
    throw CommError(fmt::format(
        "ranks {} and {} disagree about a collective call: this rank makes {} of {} {}; run with "
        "WEFT_CHECK=1 to see all of both calls",
        rank(), peer, name_of(call.kind), call.in.count, name_of(call.in.dtype)));
  }
  if (call.eager) {
    work_eagerly(call, sequence);
    return;
  }
  const BusyMark busy(board_.busy);
  if (team_->failure->raised()) return;
  if (!on_gpu(call.in.where)) {
    work_on_memory(call, sequence);
    return;
  }
  const Stream stream = gpu_stream(call.in.where);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank()) stream.wait(slot(peer, sequence).ready);
  }
  work_on_memory(call, sequence);
  slot(rank(), sequence).done.record(stream);
}

void ThreadTransport::work_eagerly(const CollectiveCall& call, std::uint64_t sequence) {
  std::uint64_t least = worked_;
  for (int peer = 0; peer < size(); ++peer) {
    const Slot& theirs = slot(peer, sequence);
    least = std::min(least, theirs.worked);
    inputs_[static_cast<std::size_t>(peer)] = theirs.payload.data();
  }
  known_worked_ = std::max(known_worked_, least);

  if (call.kind == CallKind::allreduce) {
    outputs_[0] = call.out.data;
    combine(call.in.where, call.in.dtype, call.op, inputs_, std::span(outputs_).first(1),
            call.in.count);
  } else if (call.kind == CallKind::broadcast && rank() != call.root) {
    copy({inputs_[static_cast<std::size_t>(call.root)], call.in.count, call.in.dtype, {}},
         call.out);
  } else if (call.kind == CallKind::all_gather) {
    for (int peer = 0; peer < size(); ++peer) {
      copy({inputs_[static_cast<std::size_t>(peer)], call.in.count, call.in.dtype, {}},
           call.out.part(call.out_parts->offset(peer), call.in.count));
    }
  }
}

void ThreadTransport::work_on_memory(const CollectiveCall& call, std::uint64_t sequence) {
  switch (call.kind) {
    case CallKind::allreduce:
    case CallKind::reduce: reduce_slice(call, sequence); break;
    case CallKind::reduce_scatter: reduce_part(call, sequence); break;
    case CallKind::broadcast: copy(slot(call.root, sequence).call.in, call.out); break;
    case CallKind::scatter: {
      const CollectiveCall& root = slot(call.root, sequence).call;
      require_same_part(call.root, root.in_parts->count(rank()), call.out.count);
      copy(root.in.part(root.in_parts->offset(rank()), root.in_parts->count(rank())), call.out);
      break;
    }
    case CallKind::gather:
      if (rank() == call.root) collect_parts(call, sequence);
      break;
    case CallKind::all_gather:
    case CallKind::all_to_all: collect_parts(call, sequence); break;
    case CallKind::barrier:
    case CallKind::send:
    case CallKind::recv: break;
  }
}

/// Each rank reduces one slice and writes it to all who want it: nothing is read or written twice.
void ThreadTransport::reduce_slice(const CollectiveCall& call, std::uint64_t sequence) {
  const index_t line = 64 / std::gcd(index_t{64}, size_of(call.in.dtype));
  const index_t lines = (call.in.count + line - 1) / line;
  const index_t begin = std::min(call.in.count, lines * rank() / size() * line);
  const index_t end = std::min(call.in.count, lines * (rank() + 1) / size() * line);
  std::size_t writers = 0;
  for (int peer = 0; peer < size(); ++peer) {
    const CollectiveCall& theirs = slot(peer, sequence).call;
    inputs_[static_cast<std::size_t>(peer)] = theirs.in.part(begin, 0).data;
    if (call.kind == CallKind::allreduce || peer == call.root) {
      outputs_[writers++] = theirs.out.part(begin, 0).data;
    }
  }
  combine(call.in.where, call.in.dtype, call.op, inputs_, std::span(outputs_).first(writers),
          end - begin);
}

void ThreadTransport::reduce_part(const CollectiveCall& call, std::uint64_t sequence) {
  const index_t offset = call.in_parts->offset(rank());
  for (int peer = 0; peer < size(); ++peer) {
    require_same_part(peer, slot(peer, sequence).call.in_parts->extent(), call.in_parts->extent());
    inputs_[static_cast<std::size_t>(peer)] = slot(peer, sequence).call.in.part(offset, 0).data;
  }
  outputs_[0] = call.out.data;
  combine(call.in.where, call.in.dtype, call.op, inputs_, std::span(outputs_).first(1),
          call.out.count);
}

void ThreadTransport::collect_parts(const CollectiveCall& call, std::uint64_t sequence) {
  for (int step = 0; step < size(); ++step) {
    // Each rank begins with another peer, so that they do not all read from the same one.
    const int peer = (rank() + step) % size();
    const CollectiveCall& theirs = slot(peer, sequence).call;
    if (call.reader != nullptr) {
      call.reader->read(peer, theirs.in.data);
      continue;
    }
    const index_t count = call.out_parts->count(peer);
    const bool whole = theirs.in_parts == nullptr;
    const index_t from = whole ? 0 : theirs.in_parts->offset(rank());
    require_same_part(peer, whole ? theirs.in.count : theirs.in_parts->count(rank()), count);
    copy(theirs.in.part(from, count), call.out.part(call.out_parts->offset(peer), count));
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
  const Choice mine = {color, key, rank()};
  std::vector<Choice> choices(static_cast<std::size_t>(size()));
  all_gather(ConstMemory(&mine.color, words), Memory(&choices[0].color, parts.extent()), parts,
             When::now);

  std::erase_if(choices, [&](const Choice& choice) { return choice.color != color; });
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.key < b.key; });
  std::vector<int> members;
  int position = 0;
  for (const Choice& choice : choices) {
    if (choice.rank == rank()) position = static_cast<int>(members.size());
    members.push_back(team_->world_ranks[static_cast<std::size_t>(choice.rank)]);
  }
  std::shared_ptr<ThreadTeam>& handed_over =
      team_->split_off[static_cast<std::size_t>(choices.front().rank)];
  if (position == 0 && color >= 0) {
    handed_over = std::make_shared<ThreadTeam>(members, team_->job_ranks, team_->failure);
  }
  barrier(When::now);
  const std::shared_ptr<ThreadTeam> team = handed_over;
  barrier(When::now);
  if (position == 0) handed_over = nullptr;
  return color < 0 ? nullptr : std::make_shared<ThreadTransport>(team, position, siblings_);
}

}  // namespace

std::vector<std::shared_ptr<Transport>> make_thread_team(int ranks) {
  // Every pair of ranks has a mailbox; beyond this, a mistyped number is more likely than a
  // machine.
  constexpr int most = 1024;
  require(ranks >= 1 && ranks <= most, "{} ranks cannot run on threads: 1 to {} can", ranks, most);
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto team = std::make_shared<ThreadTeam>(members, ranks, std::make_shared<Failure>());
  std::vector<std::shared_ptr<Transport>> transports;
  transports.reserve(members.size());
  for (int rank = 0; rank < ranks; ++rank) {
    transports.push_back(
        std::make_shared<ThreadTransport>(team, rank, std::make_shared<RankTransports>()));
  }
  return transports;
}

}  // namespace weft::detail
