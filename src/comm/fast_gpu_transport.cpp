#include "comm/fast_gpu_transport.hpp"

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/gpu_board.hpp"
#include "comm/gpu_channel.hpp"
#include "comm/gpu_registry.hpp"
#include "comm/memory_ops.hpp"
#include "comm/self_transport.hpp"
#include "comm/waiter.hpp"
#include "core/cuda_device.hpp"
#include "core/graph_hook.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace weft::detail {
namespace {

/// Reductions run on this thread's stream. Messages, and collectives that consist of them, run on
/// streams of their own, so that they overlap with other work, and sends, receives and collectives
/// do not wait for each other; waiting for them joins the streams. Calls do not wait for the GPU;
/// where the host does, it checks for failures (WaitGuard). Messages need ranks in one process;
/// among others only sums are taken, and Comm stages the rest. Threads take other calls than
/// blocking sums only if they are captured: see launch_together(). More than 400 lines: one class
/// that nothing else sees, most of it short collectives.
class FastGpuTransport final : public Transport, private WaitGuard {
 public:
  /// Collective over `host`.
  FastGpuTransport(std::shared_ptr<Transport> host, Device device, bool one_gpu)
      : Transport(host->rank(), host->size()),
        host_(std::move(host)),
        device_(device),
        one_process_(host_->name() == "thread"),
        one_gpu_(one_gpu),
        meeting_(std::make_shared<Meeting>(host_)),
        stream_(Stream::current(device)),
        thread_(std::this_thread::get_id()),
        messages_(GpuBoard::Channel::messages, device),
        collectives_(GpuBoard::Channel::collectives, device),
        self_(make_self_transport()),
        board_(GpuBoard::make(*host_, device, {one_process_, one_gpu_})),
        registry_(one_process_ ? nullptr : GpuRegistry::make(host_, device)) {
    use_table(allreduce_table());
  }
  ~FastGpuTransport() override {
    // A rank that fails does not make the calls that others wait for.
    if (std::uncaught_exceptions() > 0) board_->abort();
    drain();
  }

  std::string_view name() const override { return host_->name(); }
  bool accepts(Device device) const override { return device == device_; }
  bool takes(CallKind kind, DType dtype, ReduceOp op, CallMode mode) const override {
    const bool is_sum = kind == CallKind::allreduce && GpuBoard::can_reduce(dtype, op);
    if (!one_process_) return is_sum;
    // To meet, threads block.
    return (is_sum && mode == CallMode::blocking) || is_captured();
  }
  Transport* substitute(CallKind kind, index_t bytes) override;
  bool averages(CallKind kind, DType dtype) const override {
    return kind == CallKind::allreduce && GpuBoard::can_reduce(dtype, ReduceOp::sum);
  }
  std::shared_ptr<Transport> split(int color, int key) override {
    flush();
    std::shared_ptr<Transport> part = host_->split(color, key);
    return part == nullptr ? nullptr : make_fast_gpu_transport(part, device_, one_gpu_);
  }

  Ticket barrier(CallMode) override {
    flush();
    Stream::current(device_).synchronize();
    return host_->barrier(CallMode::blocking);
  }
  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) override;
  bool allreduce_then(ConstBufferRef in, BufferRef out, const Epilogue& epilogue) override;
  Ticket broadcast(BufferRef data, int root, CallMode mode) override;
  Ticket reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode mode) override;
  Ticket reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                        CallMode mode) override;
  Ticket all_gather(ConstBufferRef in, BufferRef out, const Parts& parts, CallMode mode) override;
  Ticket gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                CallMode mode) override;
  Ticket scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                 CallMode mode) override;
  Ticket all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                    CallMode mode) override;

  Ticket send(ConstBufferRef data, int to) override;
  Ticket recv(BufferRef data, int from) override;
  void flush() override;
  bool test(const Ticket& ticket) override;
  void wait(const Ticket& ticket) override;
  void abandon(const Ticket& ticket) noexcept override;
  std::unique_ptr<MemoryRegistration> register_memory(BufferRef memory) override {
    return registry_ == nullptr ? nullptr : registry_->add(memory);
  }
  std::unique_ptr<MemoryRegistration> allocate_registered(index_t bytes) override {
    return registry_ == nullptr ? nullptr : registry_->allocate(bytes);
  }
  std::optional<AllreduceTeam> allreduce_team() override { return AllreduceTeam{place(), size()}; }
  void use_table(const std::shared_ptr<const AllreduceTable>& table) override {
    choices_ = table->choices(place(), size());
  }
  void throw_if_failed() override { host_->throw_if_failed(); }
  void abort(const std::string&) noexcept override { board_->abort(); }

 private:
  /// Ranks meet on the host.
  class Meeting final : public GraphHook {
   public:
    explicit Meeting(std::shared_ptr<Transport> host) : host_(std::move(host)) {}
    void meet(const char* call) {
      const CallScope scope(*host_, call);
      host_->barrier(CallMode::blocking);
    }
    void before_launch() override { meet("the launch of a graph"); }
    void after_launch() override { meet("the launch of a graph"); }

   private:
    std::shared_ptr<Transport> host_;
  };

  enum TicketKind : std::int32_t { of_sends, of_recvs, of_collectives, to_self };
  static Ticket of_self(Ticket ticket) {
    ticket.kind = to_self;
    return ticket;
  }

  AllreducePlace place() const {
    return one_process_ ? AllreducePlace::gpu_thread : AllreducePlace::gpu_process;
  }
  bool is_captured() const { return cuda_is_capturing(Stream::current(device_).handle()); }
  /// Launches kernels that wait for those of other ranks. Threads share a context, in which many
  /// calls of CUDA wait for running kernels and keep others from launching theirs: to load a
  /// kernel, to free memory, to destroy a graph. So threads meet before, when none is in such a
  /// call, and after, when none has still to launch. Graphs do this when they are launched.
  template <class Launch>
  void launch_together(Launch launch);
  /// This thread's stream. Calls of one communicator run one after the other, also if they come
  /// from several threads in turn.
  const Stream& stream();
  /// Waits for the kernels of this rank, which use memory of the board.
  void drain() noexcept;
  void check(std::chrono::duration<double> waited) override;

  /// The ends of the calls of a ticket.
  template <class Do>
  void for_each_end(const Ticket& ticket, Do f) const;
  void begin_collective();
  /// Issues the messages of a collective.
  Ticket issue_collective(CallMode mode);

  AllreduceAlgorithm algorithm_for_sum(ConstBufferRef in, bool registered) const {
    return choices_.choose({.ranks = size(),
                            .bytes = in.bytes(),
                            .dtype = in.dtype,
                            .op = ReduceOp::sum,
                            .registered = registered});
  }
  /// Of memory that is registered, if the call is one that would use that.
  RegisteredPlaces registered_places(ConstBufferRef in, ConstBufferRef out);
  void allreduce_scaled(ConstBufferRef in, BufferRef out, const Scaling& scaling);
  std::byte* scratch(index_t bytes);
  /// For the same call in a graph, which cannot allocate.
  void reserve_scratch(index_t bytes);
  static constexpr index_t most_reserved = index_t{64} << 20;
  /// Combines rows, one per rank.
  void combine_rows(const std::byte* rows, DType dtype, ReduceOp op, BufferRef out);

  std::shared_ptr<Transport> host_;
  Device device_;
  bool one_process_;
  bool one_gpu_;
  std::shared_ptr<Meeting> meeting_;
  AllreduceChoices choices_;
  Stream stream_;           // of the last call
  std::thread::id thread_;  // of the last call
  Event moved_;
  GpuChannel messages_;
  GpuChannel collectives_;
  std::shared_ptr<Transport> self_;  // messages to this rank itself
  std::unique_ptr<GpuBoard> board_;
  std::shared_ptr<GpuRegistry> registry_;   // of processes
  std::vector<Buffer<std::byte>> scratch_;  // the last is used; graphs may use the others
  // Kept so that calls do not allocate.
  std::vector<const void*> inputs_;
  Parts rows_;
};

void FastGpuTransport::check(std::chrono::duration<double>) {
  if (board_ == nullptr) return;  // in the constructor
  // Before anything waits for its kernels
  if (host_->has_failed()) board_->abort();
  try {
    host_->progress();  // a peer may wait in a message to this rank
    host_->throw_if_failed();
  } catch (...) {
    board_->abort();
    throw;
  }
  const std::string failure = board_->failure();
  if (failure.empty()) return;
  host_->abort(failure);
  throw CommError(failure);
}

// Streams

template <class Launch>
void FastGpuTransport::launch_together(Launch launch) {
  if (!one_process_) return launch();
  if (is_captured()) {
    add_graph_hook(meeting_);
    return launch();
  }
  meeting_->meet("allreduce");
  launch();
  meeting_->meet("allreduce");
}

const Stream& FastGpuTransport::stream() {
  Stream current = Stream::current(device_);
  if (current.handle() == stream_.handle()) return stream_;
  // The streams that one thread uses in turn are in order already (StreamScope).
  if (thread_ != std::this_thread::get_id()) {
    moved_.record(stream_);
    current.wait(moved_);
    thread_ = std::this_thread::get_id();
  }
  stream_ = std::move(current);
  return stream_;
}

void FastGpuTransport::drain() noexcept {
  try {
    // Not by the ends of issues: they may have been captured.
    for (const Stream& each : {stream(), messages_.sends.stream(), messages_.recvs.stream(),
                               collectives_.sends.stream(), collectives_.recvs.stream()}) {
      moved_.record(each);
      Waiter waiter(true);
      while (!moved_.passed()) {
        if (!waiter.pause() || !board_->failure().empty()) continue;
        try {
          check(waiter.waited());
        } catch (const std::exception&) {
          board_->abort();  // ends the kernels
        }
      }
    }
  } catch (const std::exception&) {
    board_->abort();  // the GPU has failed: its memory must not be used again
  }
}

template <class Do>
void FastGpuTransport::for_each_end(const Ticket& ticket, Do f) const {
  switch (ticket.kind) {
    case of_sends: return f(messages_.sends.end(ticket.id));
    case of_recvs: return f(messages_.recvs.end(ticket.id));
    default:
      if (const auto sends = ticket.id >> 32; sends != 0) f(collectives_.sends.end(sends));
      if (const auto recvs = ticket.id & 0xffffffffU; recvs != 0) f(collectives_.recvs.end(recvs));
  }
}

bool FastGpuTransport::test(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) return self_->test(ticket);
  check({});
  bool passed = true;
  if (ticket.id != 0) {
    for_each_end(ticket, [&](const Event& end) { passed = passed && end.passed(); });
  }
  return passed;
}

void FastGpuTransport::wait(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) {
    self_->wait(ticket);
  } else if (ticket.id != 0) {
    for_each_end(ticket, [&](const Event& end) { stream().wait(end); });
  }
}

void FastGpuTransport::abandon(const Ticket&) noexcept {
  // This rank will not do its share, so nobody can continue.
  board_->abort();
  host_->abort("an error left a communication unfinished");
  drain();  // kernels must not access the caller's memory afterwards; they have been told to end
}

// Messages are collected until one is waited for: they need not be issued in an order that lets
// each of them complete before the next.

Ticket FastGpuTransport::send(ConstBufferRef data, int to) {
  if (to == rank()) return of_self(self_->send(data, 0));
  if (data.count == 0) return {};
  messages_.send(data, to);
  return {.kind = of_sends, .peer = 0, .id = messages_.sends.next()};
}

Ticket FastGpuTransport::recv(BufferRef data, int from) {
  if (from == rank()) return of_self(self_->recv(data, 0));
  if (data.count == 0) return {};
  messages_.recv(data, from);
  return {.kind = of_recvs, .peer = 0, .id = messages_.recvs.next()};
}

void FastGpuTransport::flush() {
  if (messages_.is_empty()) return;
  add_graph_hook(meeting_);
  messages_.issue(*board_, stream());
}

void FastGpuTransport::begin_collective() {
  flush();
  collectives_.clear();  // of what a call that failed has left
}

Ticket FastGpuTransport::issue_collective(CallMode mode) {
  add_graph_hook(meeting_);
  // Only of what this call issues: earlier events may belong to another capture.
  const std::uint64_t sends = collectives_.sends.is_empty() ? 0 : collectives_.sends.next();
  const std::uint64_t recvs = collectives_.recvs.is_empty() ? 0 : collectives_.recvs.next();
  collectives_.issue(*board_, stream());
  const Ticket ticket = {
      .kind = of_collectives, .peer = 0, .id = sends << 32 | (recvs & 0xffffffffU)};
  if (mode == CallMode::nonblocking) return ticket;
  if (ticket.id != 0) for_each_end(ticket, [&](const Event& end) { stream().wait(end); });
  return {};
}

// Collectives of messages

Ticket FastGpuTransport::broadcast(BufferRef data, int root, CallMode mode) {
  begin_collective();
  if (rank() != root) {
    collectives_.recv(data, root);
    return issue_collective(mode);
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != root) collectives_.send(data, peer);
  }
  return issue_collective(mode);
}

Ticket FastGpuTransport::all_gather(ConstBufferRef in, BufferRef out, const Parts& parts,
                                    CallMode mode) {
  begin_collective();
  for (int peer = 0; peer < size(); ++peer) {
    const BufferRef part = out.part(parts.offset(peer), parts.count(peer));
    if (peer == rank()) {
      copy(in, part);
    } else {
      collectives_.send(in, peer);
      collectives_.recv(part, peer);
    }
  }
  return issue_collective(mode);
}

Ticket FastGpuTransport::gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                                CallMode mode) {
  begin_collective();
  if (rank() != root) {
    collectives_.send(in, root);
    return issue_collective(mode);
  }
  for (int peer = 0; peer < size(); ++peer) {
    const BufferRef part = out.part(parts.offset(peer), parts.count(peer));
    if (peer == root) {
      copy(in, part);
    } else {
      collectives_.recv(part, peer);
    }
  }
  return issue_collective(mode);
}

Ticket FastGpuTransport::scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                                 CallMode mode) {
  begin_collective();
  if (rank() != root) {
    collectives_.recv(out, root);
    return issue_collective(mode);
  }
  for (int peer = 0; peer < size(); ++peer) {
    const ConstBufferRef part = in.part(parts.offset(peer), parts.count(peer));
    if (peer == root) {
      copy(part, out);
    } else {
      collectives_.send(part, peer);
    }
  }
  return issue_collective(mode);
}

Ticket FastGpuTransport::all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out,
                                    const Parts& received, CallMode mode) {
  begin_collective();
  for (int peer = 0; peer < size(); ++peer) {
    const ConstBufferRef from = in.part(sent.offset(peer), sent.count(peer));
    const BufferRef to = out.part(received.offset(peer), received.count(peer));
    if (peer == rank()) {
      copy(from, to);
    } else {
      collectives_.send(from, peer);
      collectives_.recv(to, peer);
    }
  }
  return issue_collective(mode);
}

// Reductions. Those that no kernel computes while the data travels are gathered and then combined,
// in the order of the ranks.

std::byte* FastGpuTransport::scratch(index_t bytes) {
  const index_t available = scratch_.empty() ? 0 : scratch_.back().size();
  if (bytes > available) {
    require(
        !is_captured(),
        "this call needs {} bytes of memory, which cannot be allocated while it is captured in a "
        "graph; up to {} bytes are reserved if the call is made once before",
        bytes, most_reserved);
    scratch_.emplace_back(std::max(bytes, 2 * available), device_);
  }
  return scratch_.empty() ? nullptr : scratch_.back().data();
}

void FastGpuTransport::combine_rows(const std::byte* rows, DType dtype, ReduceOp op,
                                    BufferRef out) {
  if (out.count == 0) return;
  inputs_.clear();
  for (int peer = 0; peer < size(); ++peer) {
    inputs_.push_back(rows + peer * out.bytes());
  }
  void* const outputs[] = {out.data};
  combine(device_, dtype, op, inputs_, outputs, out.count);
}

void FastGpuTransport::reserve_scratch(index_t bytes) {
  if (bytes > most_reserved) return;
  try {
    scratch(bytes);
  } catch (const DeviceError&) {
    // The captured call, if there is one, reports that there is no memory.
  }
}

Transport* FastGpuTransport::substitute(CallKind kind, index_t bytes) {
  if (!one_process_ || !one_gpu_ || !host_->accepts(device_)) return nullptr;
  const bool reduces =
      kind == CallKind::allreduce || kind == CallKind::reduce || kind == CallKind::reduce_scatter;
  if (reduces) reserve_scratch(bytes * size());
  return host_.get();
}

RegisteredPlaces FastGpuTransport::registered_places(ConstBufferRef in, ConstBufferRef out) {
  if (registry_ == nullptr) return {};
  if (algorithm_for_sum(in, true) == algorithm_for_sum(in, false)) return {};
  return is_captured() ? registry_->capture(in, out, stream().handle()) : registry_->find(in, out);
}

Ticket FastGpuTransport::allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode) {
  flush();
  if (in.count == 0) return {};
  if (op == ReduceOp::avg) {
    allreduce_then(in, out, Scaling{.factor = static_cast<double>(size()), .divides = true});
    return {};
  }
  if (GpuBoard::can_reduce(in.dtype, op)) {
    const RegisteredPlaces places = registered_places(in, out);
    const AllreduceAlgorithm algorithm = algorithm_for_sum(in, places.table != nullptr);
    launch_together([&] { board_->allreduce(algorithm, in, out, places, stream().handle()); });
    return {};
  }
  rows_.make_even(size(), in.count);
  std::byte* const rows = scratch(rows_.extent() * size_of(in.dtype));
  all_gather(in, BufferRef(rows, rows_.extent(), in.dtype, device_), rows_, CallMode::blocking);
  combine_rows(rows, in.dtype, op, out);
  return {};
}

void FastGpuTransport::allreduce_scaled(ConstBufferRef in, BufferRef out, const Scaling& scaling) {
  const RegisteredPlaces places = registered_places(in, out);
  board_->allreduce_scaled(algorithm_for_sum(in, places.table != nullptr), in, out, places, scaling,
                           stream().handle());
}

bool FastGpuTransport::allreduce_then(ConstBufferRef in, BufferRef out, const Epilogue& epilogue) {
  flush();
  if (in.count == 0) return true;
  bool done = true;
  launch_together([&] {
    if (const auto* norm = std::get_if<RowNorm>(&epilogue)) {
      done = board_->allreduce_rms_norm(in, out, *norm, stream().handle());
    } else {
      allreduce_scaled(in, out, std::get<Scaling>(epilogue));
    }
  });
  return done;
}

// All ranks need the same memory, so that they fail together without it.

Ticket FastGpuTransport::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode) {
  rows_.make_even(size(), in.count);
  std::byte* const rows = scratch(rows_.extent() * size_of(in.dtype));
  const index_t count = rank() == root ? rows_.extent() : 0;
  gather(in, BufferRef(rows, count, in.dtype, device_), rows_, root, CallMode::blocking);
  if (rank() == root) combine_rows(rows, in.dtype, op, out);
  return {};
}

Ticket FastGpuTransport::reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out,
                                        ReduceOp op, CallMode) {
  std::byte* const rows = scratch(in.bytes() * size());
  rows_.make_even(size(), out.count);
  all_to_all(in, parts, BufferRef(rows, rows_.extent(), in.dtype, device_), rows_,
             CallMode::blocking);
  combine_rows(rows, in.dtype, op, out);
  return {};
}

}  // namespace

std::shared_ptr<Transport> make_fast_gpu_transport(const std::shared_ptr<Transport>& host,
                                                   Device device, bool one_gpu) {
  const Transport::CallScope scope(*host, "connecting ranks on a GPU");
  return std::make_shared<FastGpuTransport>(host, device, one_gpu);
}

}  // namespace weft::detail
