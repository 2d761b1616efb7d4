#pragma once

#include "comm/peer_reader.hpp"
#include "comm/reduction_kernels.hpp"
#include "comm/ring.hpp"
#include "comm/thread_team.hpp"
#include "comm/transport.hpp"
#include "comm/waiter.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

/// A larger number is a mistake; and every pair of ranks has a mailbox.
inline constexpr int max_thread_ranks = 1024;

/// Throws unless a team can have this many ranks.
void require_thread_ranks(int ranks);
/// Transports of `ranks` threads of this process, one per rank.
std::vector<std::shared_ptr<Transport>> make_thread_team(int ranks);

/// Marks that the rank of this transport makes no more calls: ranks that still wait for it fail.
void depart_from_team(Transport& transport) noexcept;
/// When all ranks have left: throws the reason of an abort() that no rank has thrown.
void throw_unreported_failure(Transport& transport);

inline bool on_gpu(Device device) { return device.kind == DeviceKind::cuda; }

/// A message this rank expects: its destination, or its reader and size.
struct ExpectedMessage {
  BufferRef to;
  PeerReader* reader = nullptr;
};

/// Messages this rank expects from one peer, in order.
struct ExpectedMessages {
  Ring<ExpectedMessage> messages;
  std::uint64_t begun = 0;
  std::uint64_t arrived = 0;

  void push(const ExpectedMessage& message) {
    messages.push(arrived, begun, message);  // may throw
    ++begun;
  }
  bool pending() const { return arrived < begun; }
  const ExpectedMessage& front() const { return messages[arrived]; }
};

/// Marks that this rank accesses peers' memory, so that none of them releases it: see
/// ThreadTransport::quiesce.
class BusyMark {
 public:
  explicit BusyMark(std::atomic<bool>& busy) : busy_(busy) { busy_.store(true); }
  ~BusyMark() { busy_.store(false, std::memory_order_release); }
  BusyMark(const BusyMark&) = delete;
  BusyMark& operator=(const BusyMark&) = delete;

 private:
  std::atomic<bool>& busy_;
};

class ThreadTransport;

/// All transports of one rank. While it waits in one of them it must progress the others, or ranks
/// that wait in different orders would deadlock.
using RankTransports = std::vector<ThreadTransport*>;

/// Ranks are threads of one process, and read each other's memory directly.
///
/// A collective has two phases: a rank *announces* it in its slot; once all ranks have, it *works*:
/// it does its share of reading and writing peers' memory. The call is complete when all ranks have
/// worked, or, if the data is in the slots, when this one has.
///
/// On a GPU, working means issuing work to this rank's stream. Ranks do not wait for the GPU; their
/// streams wait for each other's events.
class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadTeam> team, int rank,
                  std::shared_ptr<RankTransports> siblings)
      : Transport(rank, team->size()),
        team_(std::move(team)),
        siblings_(std::move(siblings)),
        board_(team_->board(rank)),
        oversubscribed_(team_->job->ranks() > available_cores()),
        choices_(allreduce_table()->choices(AllreducePlace::thread, size())),
        expected_(static_cast<std::size_t>(size())),
        inputs_(static_cast<std::size_t>(size())),
        outputs_(static_cast<std::size_t>(size())) {
    siblings_->push_back(this);
  }
  ~ThreadTransport() override { std::erase(*siblings_, this); }
  ThreadTransport(const ThreadTransport&) = delete;
  ThreadTransport& operator=(const ThreadTransport&) = delete;

  std::string_view name() const override { return "thread"; }
  /// Comm passes GPU memory only if all ranks are on the same GPU.
  bool accepts(Device device) const override {
    return !on_gpu(device) || size() <= kernels::max_gpu_inputs;
  }
  std::shared_ptr<Transport> split(int color, int key) override;

  Ticket barrier(CallMode mode) override { return begin({.kind = CallKind::barrier}, 0, mode); }
  Ticket broadcast(BufferRef data, int root, CallMode mode) override {
    return begin({.kind = CallKind::broadcast, .root = root, .in = data, .out = data}, data.bytes(),
                 mode);
  }
  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) override {
    const bool eager =
        in.where.host_accessible() &&
        choices_.choose({size(), in.bytes(), in.dtype, op}) == AllreduceAlgorithm::slots;
    return begin({.kind = CallKind::allreduce, .op = op, .eager = eager, .in = in, .out = out},
                 mode);
  }
  Ticket reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode mode) override {
    return begin({.kind = CallKind::reduce, .op = op, .root = root, .in = in, .out = out}, mode);
  }
  Ticket reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                        CallMode mode) override {
    return begin(
        {.kind = CallKind::reduce_scatter, .op = op, .in = in, .out = out, .in_parts = &parts},
        mode);
  }
  Ticket all_gather(ConstBufferRef in, BufferRef out, const Parts& parts, CallMode mode) override {
    const CollectiveCall call = {
        .kind = CallKind::all_gather, .in = in, .out = out, .out_parts = &parts};
    return parts.even() ? begin(call, in.bytes(), mode) : begin(call, mode);
  }
  Ticket gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                CallMode mode) override {
    return begin(
        {.kind = CallKind::gather, .root = root, .in = in, .out = out, .out_parts = &parts}, mode);
  }
  Ticket scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                 CallMode mode) override {
    return begin(
        {.kind = CallKind::scatter, .root = root, .in = in, .out = out, .in_parts = &parts}, mode);
  }
  Ticket all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                    CallMode mode) override {
    return begin({.kind = CallKind::all_to_all,
                  .in = in,
                  .out = out,
                  .in_parts = &sent,
                  .out_parts = &received},
                 mode);
  }

  bool shares_memory() const override { return true; }
  void read_peers(ConstBufferRef mine, PeerReader& reader) override {
    begin({.kind = CallKind::all_to_all, .in = mine, .reader = &reader}, CallMode::blocking);
  }

  Ticket send(ConstBufferRef data, int to) override;
  Ticket recv(BufferRef data, int from) override { return expect({data, nullptr}, from); }
  Ticket read(BufferRef like, int from, PeerReader& reader) override {
    return expect({like, &reader}, from);
  }

  bool test(const Ticket& ticket) override {
    progress_all();
    const bool complete = is_complete(ticket);
    throw_if_failed();
    if (complete) {
      order_after(ticket);
    } else {
      fail_if_departed(ticket);
    }
    return complete;
  }
  void wait(const Ticket& ticket) override;
  void abandon(const Ticket&) noexcept override {
    job().announce_failure(job_rank());
    quiesce();
  }
  void throw_if_failed() override {
    if (job().stopped()) [[unlikely]]
      throw_failure();
  }
  bool has_failed() const override { return team_->job->stopped(); }
  int job_size() const override { return team_->job->ranks(); }
  std::optional<AllreduceTeam> allreduce_team() override {
    return AllreduceTeam{AllreducePlace::thread, size()};
  }
  void use_table(const std::shared_ptr<const AllreduceTable>& table) override {
    choices_ = table->choices(AllreducePlace::thread, size());
  }
  void abort(const std::string& reason) noexcept override { job().raise(job_rank(), reason); }

  ThreadJob& job() { return *team_->job; }
  int job_rank() const { return job_rank(rank()); }

 private:
  enum TicketKind : std::int32_t { collective, gpu_collective, sending, gpu_sending, receiving };

  int job_rank(int peer) const { return team_->job_ranks[static_cast<std::size_t>(peer)]; }
  Slot& slot(int peer, std::uint64_t sequence) {
    return team_->board(peer).slots[sequence % collective_depth];
  }

  Ticket expect(const ExpectedMessage& expected, int from);
  /// Announces a collective whose data peers read in place.
  Ticket begin(const CollectiveCall& call, CallMode mode);
  /// Announces a collective whose `bytes` of data go into the slot if they fit.
  Ticket begin(CollectiveCall call, index_t bytes, CallMode mode) {
    call.eager = call.in.where.host_accessible() && bytes <= Slot::payload_bytes;
    return begin(call, mode);
  }

  /// This rank's stream; stores the GPU.
  Stream gpu_stream(Device device) {
    gpu_ = device;
    return Stream::current(device);
  }
  /// Makes later work of this rank wait until peers are done with its memory.
  void order_after(const Ticket& ticket);

  void prefetch_next_slot(index_t bytes);
  bool is_complete(const Ticket& ticket);
  bool all_worked(std::uint64_t collectives);
  bool all_announced(std::uint64_t sequence);

  /// Does this rank's share of all calls that are ready, in all its transports. Never waits.
  void progress_all() {
    for (ThreadTransport* transport : *siblings_) transport->progress_calls();
  }
  void progress_calls();
  void progress_messages();
  /// Receives the message at the front of a mailbox.
  void receive(Mailbox& mailbox, int peer, ConstBufferRef from, const ExpectedMessage& expected);
  void work(const CollectiveCall& call, std::uint64_t sequence);
  void work_eagerly(const CollectiveCall& call, std::uint64_t sequence);
  void work_on_memory(const CollectiveCall& call, std::uint64_t sequence);
  void reduce_slice(const CollectiveCall& call, std::uint64_t sequence);
  void reduce_part(const CollectiveCall& call, std::uint64_t sequence);
  void collect_parts(const CollectiveCall& call, std::uint64_t sequence);

  /// Waits until done(), for the call of `ticket`.
  template <class Done>
  void wait_until(const Ticket& ticket, Done done);
  /// The name of the call that a ticket waits for, as the program made it.
  std::string_view call_of(const Ticket& ticket);
  /// Whether an incomplete call waits for this peer.
  bool waits_for(int peer, const Ticket& ticket);
  /// Fails on all ranks if the call waits for a rank that has left.
  void fail_if_departed(const Ticket& ticket);
  [[noreturn]] void time_out(const Ticket& ticket);
  [[noreturn]] void throw_failure();
  /// Returns when no peer accesses this rank's memory. Only when the job has stopped.
  void quiesce() noexcept;
  void stop(std::string_view reason) noexcept;

  static std::uint64_t tag_of(const CollectiveCall& call);
  void require_same_call(std::uint64_t sequence);
  void require_same_part(int peer, index_t theirs, index_t mine) const;

  std::shared_ptr<ThreadTeam> team_;
  std::shared_ptr<RankTransports> siblings_;
  RankBoard& board_;
  bool oversubscribed_;
  AllreduceChoices choices_;

  std::uint64_t announced_ = 0;
  std::uint64_t worked_ = 0;
  /// All ranks have worked through at least this many collectives.
  std::uint64_t known_worked_ = 0;
  /// Ranks below this one have announced the next collective to work on.
  int seen_ranks_ = 0;

  std::vector<ExpectedMessages> expected_;
  index_t expecting_ = 0;

  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::optional<Device> gpu_;  // set when its memory is first used
};

}  // namespace weft::detail
