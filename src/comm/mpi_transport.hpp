#pragma once

#include <weft/comm/stats.hpp>

#include "comm/mpi_calls.hpp"
#include "comm/mpi_library.hpp"
#include "comm/mpi_watchdog.hpp"
#include "comm/transport.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace weft::detail {

/// An id of a new communicator that its ranks agree on and no other communicator of the job has.
/// Collective over the communicator.
std::uint64_t make_comm_id(MPI_Comm comm);

/// Collectives and messages of an MPI communicator. MPI counts are 32-bit numbers: larger calls are
/// split into several.
class MpiTransport final : public Transport {
 public:
  /// The most elements in one MPI call; see set_mpi_count_limit.
  inline static index_t count_limit = std::numeric_limits<int>::max();

  explicit MpiTransport(OwnedComm comm)
      : Transport(rank_in(comm.get()), detail::size_of(comm.get())),
        owned_(std::move(comm)),
        comm_(owned_.get()),
        watched_(
            MpiWatchdog::instance().add(make_comm_id(comm_), job_ranks(comm_), Transport::rank())),
        calls_(*watched_) {}
  ~MpiTransport() override { MpiWatchdog::instance().remove(watched_); }

  std::string_view name() const override { return "mpi"; }
  bool accepts(Device device) const override {
    return device.host_accessible() || (device.kind == DeviceKind::cuda && mpi_is_cuda_aware());
  }
  bool ordered_on_stream() const override { return false; }
  std::shared_ptr<Transport> split(int color, int key) override;

  Ticket barrier(CallMode mode) override;
  Ticket broadcast(BufferRef data, int root, CallMode mode) override;
  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) override;
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

  bool test(const Ticket& ticket) override { return calls_.test(ticket); }
  void wait(const Ticket& ticket) override { calls_.wait(ticket); }
  void abandon(const Ticket& ticket) noexcept override { calls_.abandon(ticket); }
  void abort(const std::string& reason) noexcept override { abort_job(reason.c_str()); }
  void abort_for(int rank, const std::string& reason) noexcept override {
    end_job(watched_->members()[static_cast<std::size_t>(rank)], reason.c_str());
  }

  int job_size() const override { return size_of_job(); }
  void enter_elsewhere(CallKind kind) override {
    elsewhere_.emplace(*watched_, call_name(kind), true);
  }
  void leave_elsewhere() noexcept override { elsewhere_.reset(); }
  void progress() override;

 private:
  // Messages of the program must not match those of large collectives.
  static constexpr int user_tag = 0;
  static constexpr int collective_tag = 1;

  /// The name of a call in errors: that of the call it is a step of, if it is one.
  const char* call_name(CallKind kind) const {
    return outer_call() != nullptr ? outer_call() : weft::to_string(kind).data();
  }
  WatchedCollective watch(CallKind kind, CallMode mode) {
    return WatchedCollective(*watched_, call_name(kind), mode == CallMode::blocking);
  }
  /// The chunks of a message of `count` elements; a collective call has at most as many.
  static std::size_t chunks_of(index_t count) {
    return static_cast<std::size_t>(count / count_limit + 1);
  }
  /// The chunks of messages or calls for all parts.
  static std::size_t chunks_of(const Parts& parts) {
    std::size_t chunks = 0;
    for (int rank = 0; rank < parts.ranks(); ++rank) chunks += chunks_of(parts.count(rank));
    return chunks;
  }
  /// The chunks of the messages for large parts.
  std::size_t large_chunks_of(const Parts& parts) const {
    std::size_t chunks = 0;
    for (int peer = 0; peer < parts.ranks(); ++peer) {
      if (is_large(parts.count(peer))) chunks += chunks_of(parts.count(peer));
    }
    return chunks;
  }
  void send_chunks(MpiCall& call, ConstBufferRef data, int to, int tag);
  void recv_chunks(MpiCall& call, BufferRef data, int from, int tag);
  void broadcast_chunks(MpiCall* call, BufferRef data, int root);
  void reduce_chunks(MpiCall* call, ConstBufferRef in, void* out, ReduceOp op, int root);
  /// MPICH 4.0 crashes if a root other than 0 reduces in place.
  bool needs_copy(ConstBufferRef in, const void* out, int root) const {
    return root != 0 && root == rank() && in.data == out && in.count > 0;
  }
  void reduce_scatter_small(MpiCall& call, ConstBufferRef in, const Parts& parts, BufferRef out,
                            ReduceOp op, CallMode mode);
  void all_gather_small(MpiCall& call, BufferRef out, const Parts& parts, CallMode mode);

  /// Parts that only two ranks know are sent in one collective call if they are small, and each as
  /// a message of its own if not. Both ranks of a pair know the length of the part between them, so
  /// they need not agree; and all small parts together fit one call.
  bool is_large(index_t count) const { return count > count_limit / size(); }
  bool is_small_part(const Parts& parts, int peer) const {
    return peer != rank() && !is_large(parts.count(peer));
  }
  /// Both return the address of the small parts.
  const void* send_parts(MpiCall& call, ConstBufferRef in, const Parts& parts);
  void* recv_parts(MpiCall& call, BufferRef out, const Parts& parts);

  OwnedComm owned_;
  MPI_Comm comm_;
  std::shared_ptr<WatchedComm> watched_;
  MpiCalls calls_;
  std::optional<WatchedCollective> elsewhere_;
};

}  // namespace weft::detail
