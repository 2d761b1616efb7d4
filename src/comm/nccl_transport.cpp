#include "comm/nccl_transport.hpp"

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/memory_ops.hpp"
#include "comm/nccl_comm.hpp"
#include "comm/self_transport.hpp"
#include "comm/waiter.hpp"

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace weft::detail {
namespace {

enum TicketKind : std::int32_t { issued, to_self };

/// How NCCL sees elements: it knows no complex numbers and no 16-bit integers.
struct Element {
  ncclDataType_t type;
  index_t pieces = 1;  // of that type in an element
};

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {ncclFloat16};
    case DType::bf16: return {ncclBfloat16};
    case DType::f32: return {ncclFloat32};
    case DType::f64: return {ncclFloat64};
    case DType::c64: return {ncclFloat32, 2};
    case DType::c128: return {ncclFloat64, 2};
    case DType::i8: return {ncclInt8};
    case DType::i16: return {ncclUint8, 2};
    case DType::i32: return {ncclInt32};
    case DType::i64: return {ncclInt64};
    case DType::u8: return {ncclUint8};
    case DType::u16: return {ncclUint8, 2};
    case DType::u32: return {ncclUint32};
    case DType::u64: break;
  }
  return {ncclUint64};
}

ncclDataType_t type_of(DType dtype) { return element_of(dtype).type; }
std::size_t pieces(const ConstBufferRef& memory) {
  return static_cast<std::size_t>(memory.count * element_of(memory.dtype).pieces);
}

/// NCCL can do this reduction by itself.
bool is_native(DType dtype, ReduceOp op) {
  if (dtype == DType::i16 || dtype == DType::u16) return false;
  if (op == ReduceOp::sum) return true;
  return !is_complex_type(dtype) &&
         (op == ReduceOp::prod || op == ReduceOp::min || op == ReduceOp::max);
}

ncclRedOp_t native(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod: return ncclProd;
    case ReduceOp::min: return ncclMin;
    case ReduceOp::max: return ncclMax;
    default: return ncclSum;
  }
}

/// The first error of several calls.
class Codes {
 public:
  Codes& operator<<(ncclResult_t code) {
    if (code_ == ncclSuccess) code_ = code;
    return *this;
  }
  ncclResult_t first() const { return code_; }

 private:
  ncclResult_t code_ = ncclSuccess;
};

/// Collectives are issued to this thread's stream. What is started for later runs on a stream
/// beside it, so that it overlaps; waiting for it joins the two. The host waits for nothing.
class NcclTransport final : public Transport {
 public:
  NcclTransport(std::unique_ptr<NcclComm> comm, int rank, int size, Device device)
      : Transport(rank, size),
        comm_(std::move(comm)),
        device_(device),
        side_stream_(Stream::make(device)),
        self_(make_self_transport()) {}

  std::string_view name() const override { return "nccl"; }
  bool accepts(Device device) const override { return device == device_; }
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
  void flush() override;

  bool test(const Ticket& ticket) override;
  void wait(const Ticket& ticket) override;
  void abandon(const Ticket& ticket) noexcept override;
  void abort(const std::string& reason) noexcept override { comm_->abort(reason); }

 private:
  struct Message {
    ConstBufferRef out;  // one of the two
    BufferRef in;
    int peer;
  };

  /// Issues what f(communicator, stream) calls, now or beside.
  template <class F>
  Ticket issue(const char* name, CallMode mode, F f);
  template <class F>
  void call(const char* name, const Stream& stream, F f) {
    auto* const handle = static_cast<cudaStream_t>(stream.handle());
    comm_->call(name, [&](ncclComm_t comm) { return f(comm, handle); });
  }
  /// The same within a group: f(communicator, stream, codes).
  template <class F>
  Ticket issue_group(const char* name, CallMode mode, F f) {
    return issue(name, mode, [&](ncclComm_t comm, cudaStream_t stream) {
      Codes codes;
      codes << ncclGroupStart();
      f(comm, stream, codes);
      codes << ncclGroupEnd();
      return codes.first();
    });
  }
  /// Begins what is to run beside, after what this thread has issued so far.
  void fork();
  Ticket join();
  Event& event(std::uint64_t number) { return events_[number % events_.size()]; }

  /// Exchanges parts with all peers, in a group; this rank's own are copied.
  Ticket exchange(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                  CallMode mode);

  // Reductions that NCCL does not know: everybody's elements are brought together and combined in
  // the order of ranks.
  std::byte* room(index_t bytes);
  void combine_rows(const std::byte* rows, DType dtype, ReduceOp op, BufferRef out);
  Ticket allreduce_by_hand(ConstBufferRef in, BufferRef out, ReduceOp op);
  Ticket reduce_by_hand(ConstBufferRef in, BufferRef out, ReduceOp op, int root);
  Ticket reduce_scatter_by_hand(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op);

  std::unique_ptr<NcclComm> comm_;
  Device device_;
  Stream side_stream_;
  std::shared_ptr<Transport> self_;  // messages to oneself
  std::vector<Message> held_;        // until flush
  Event forked_;
  std::uint64_t joined_ = 0;
  std::array<Event, 64> events_;  // where the latest calls beside have ended
  Buffer<std::byte> scratch_;
  std::vector<const void*> inputs_;
};

// Order

void NcclTransport::fork() {
  forked_.record(Stream::current(device_));
  side_stream_.wait(forked_);
}

Ticket NcclTransport::join() {
  event(++joined_).record(side_stream_);
  return {.kind = issued, .peer = 0, .id = joined_};
}

template <class F>
Ticket NcclTransport::issue(const char* name, CallMode mode, F f) {
  flush();
  if (mode == CallMode::blocking) {
    call(name, Stream::current(device_), f);
    return {};
  }
  fork();
  call(name, side_stream_, f);
  return join();
}

bool NcclTransport::test(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) return self_->test(ticket);
  comm_->check({});
  return ticket.id == 0 || event(ticket.id).passed();
}

void NcclTransport::wait(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) {
    self_->wait(ticket);
  } else if (ticket.id != 0) {
    Stream::current(device_).wait(event(ticket.id));
  }
}

void NcclTransport::abandon(const Ticket& ticket) noexcept {
  try {
    wait(ticket);  // the stream does, before it releases the memory
  } catch (const std::exception&) {
    // Broken: nothing is under way any more.
  }
}

// Messages are held back until somebody waits for one: a send alone would keep the stream from the
// receive behind it.

Ticket NcclTransport::send(ConstBufferRef data, int to) {
  if (to == rank()) {
    Ticket ticket = self_->send(data, 0);
    ticket.kind = to_self;
    return ticket;
  }
  if (data.count > 0) held_.push_back({data, {}, to});
  return {.kind = issued, .peer = to, .id = joined_ + 1};
}

Ticket NcclTransport::recv(BufferRef data, int from) {
  if (from == rank()) {
    Ticket ticket = self_->recv(data, 0);
    ticket.kind = to_self;
    return ticket;
  }
  if (data.count > 0) held_.push_back({{}, data, from});
  return {.kind = issued, .peer = from, .id = joined_ + 1};
}

void NcclTransport::flush() {
  if (held_.empty()) return;
  fork();
  call("messages", side_stream_, [&](ncclComm_t comm, cudaStream_t stream) {
    Codes codes;
    codes << ncclGroupStart();
    for (const Message& each : held_) {
      if (each.out.count > 0) {
        codes << ncclSend(each.out.data, pieces(each.out), type_of(each.out.dtype), each.peer, comm,
                          stream);
      } else {
        codes << ncclRecv(each.in.data, pieces(each.in), type_of(each.in.dtype), each.peer, comm,
                          stream);
      }
    }
    codes << ncclGroupEnd();
    return codes.first();
  });
  held_.clear();
  join();
}

// Collectives that move data

Ticket NcclTransport::barrier(CallMode) {
  const ConstBufferRef token(room(1), 1, DType::u8, device_);
  allreduce(token, BufferRef(scratch_.data(), 1, DType::u8, device_), ReduceOp::max,
            CallMode::blocking);
  Stream::current(device_).synchronize();
  return {};
}

Ticket NcclTransport::broadcast(BufferRef data, int root, CallMode mode) {
  return issue("ncclBroadcast", mode, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(data.data, data.data, pieces(data), type_of(data.dtype), root, comm,
                         stream);
  });
}

Ticket NcclTransport::all_gather(ConstBufferRef in, BufferRef out, const Parts& parts,
                                 CallMode mode) {
  const ncclDataType_t type = type_of(in.dtype);
  if (parts.even()) {
    return issue("ncclAllGather", mode, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllGather(in.data, out.data, pieces(in), type, comm, stream);
    });
  }
  return issue_group(
      "ncclBroadcast", mode, [&](ncclComm_t comm, cudaStream_t stream, Codes& codes) {
        for (int root = 0; root < size(); ++root) {
          const BufferRef part = out.part(parts.offset(root), parts.count(root));
          if (part.count == 0) continue;
          const void* from = root == rank() ? in.data : part.data;
          codes << ncclBroadcast(from, part.data, pieces(part), type, root, comm, stream);
        }
      });
}

Ticket NcclTransport::exchange(ConstBufferRef in, const Parts& sent, BufferRef out,
                               const Parts& received, CallMode mode) {
  const ncclDataType_t type = type_of(in.dtype);
  if (sent.ranks() > 0 && received.ranks() > 0) {
    copy(in.part(sent.offset(rank()), sent.count(rank())),
         out.part(received.offset(rank()), received.count(rank())));
  }
  return issue_group("messages", mode, [&](ncclComm_t comm, cudaStream_t stream, Codes& codes) {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      if (peer < sent.ranks() && sent.count(peer) > 0) {
        const ConstBufferRef part = in.part(sent.offset(peer), sent.count(peer));
        codes << ncclSend(part.data, pieces(part), type, peer, comm, stream);
      }
      if (peer < received.ranks() && received.count(peer) > 0) {
        const BufferRef part = out.part(received.offset(peer), received.count(peer));
        codes << ncclRecv(part.data, pieces(part), type, peer, comm, stream);
      }
    }
  });
}

/// All elements are one rank's part.
Parts only(int ranks, int rank, index_t count) {
  std::vector<index_t> counts(static_cast<std::size_t>(ranks));
  counts[static_cast<std::size_t>(rank)] = count;
  return Parts(std::move(counts));
}

Ticket NcclTransport::gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                             CallMode mode) {
  const Parts sent = only(size(), root, in.count);
  return exchange(in, sent, out, rank() == root ? parts : Parts(), mode);
}

Ticket NcclTransport::scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                              CallMode mode) {
  const Parts received = only(size(), root, out.count);
  return exchange(in, rank() == root ? parts : Parts(), out, received, mode);
}

Ticket NcclTransport::all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out,
                                 const Parts& received, CallMode mode) {
  return exchange(in, sent, out, received, mode);
}

// Reductions

Ticket NcclTransport::allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) {
  if (!is_native(in.dtype, op)) return allreduce_by_hand(in, out, op);
  return issue("ncclAllReduce", mode, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(in.data, out.data, pieces(in), type_of(in.dtype), native(op), comm,
                         stream);
  });
}

Ticket NcclTransport::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root,
                             CallMode mode) {
  if (!is_native(in.dtype, op)) return reduce_by_hand(in, out, op, root);
  return issue("ncclReduce", mode, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclReduce(in.data, out.data, pieces(in), type_of(in.dtype), native(op), root, comm,
                      stream);
  });
}

Ticket NcclTransport::reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out,
                                     ReduceOp op, CallMode mode) {
  if (!is_native(in.dtype, op)) return reduce_scatter_by_hand(in, parts, out, op);
  const ncclDataType_t type = type_of(in.dtype);
  if (parts.even()) {
    return issue("ncclReduceScatter", mode, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclReduceScatter(in.data, out.data, pieces(out), type, native(op), comm, stream);
    });
  }
  return issue_group("ncclReduce", mode, [&](ncclComm_t comm, cudaStream_t stream, Codes& codes) {
    for (int root = 0; root < size(); ++root) {
      const ConstBufferRef part = in.part(parts.offset(root), parts.count(root));
      if (part.count == 0) continue;
      codes << ncclReduce(part.data, out.data, pieces(part), type, native(op), root, comm, stream);
    }
  });
}

std::byte* NcclTransport::room(index_t bytes) {
  if (scratch_.size() < bytes) scratch_ = Buffer<std::byte>(bytes, device_);
  return scratch_.data();
}

void NcclTransport::combine_rows(const std::byte* rows, DType dtype, ReduceOp op, BufferRef out) {
  inputs_.clear();
  for (int peer = 0; peer < size(); ++peer) inputs_.push_back(rows + peer * out.bytes());
  void* const outputs[] = {out.data};
  combine(device_, dtype, op, inputs_, outputs, out.count);
}

Ticket NcclTransport::allreduce_by_hand(ConstBufferRef in, BufferRef out, ReduceOp op) {
  Parts rows;
  rows.make_even(size(), in.count);
  const BufferRef all(room(rows.extent() * size_of(in.dtype)), rows.extent(), in.dtype, device_);
  all_gather(in, all, rows, CallMode::blocking);
  combine_rows(scratch_.data(), in.dtype, op, out);
  return {};
}

Ticket NcclTransport::reduce_by_hand(ConstBufferRef in, BufferRef out, ReduceOp op, int root) {
  Parts rows;
  rows.make_even(size(), in.count);
  const bool here = rank() == root;
  const index_t count = here ? rows.extent() : 0;
  const BufferRef all(room(count * size_of(in.dtype)), count, in.dtype, device_);
  gather(in, all, rows, root, CallMode::blocking);
  if (here) combine_rows(scratch_.data(), in.dtype, op, out);
  return {};
}

Ticket NcclTransport::reduce_scatter_by_hand(ConstBufferRef in, const Parts& parts, BufferRef out,
                                             ReduceOp op) {
  Parts rows;
  rows.make_even(size(), out.count);
  const BufferRef all(room(rows.extent() * size_of(in.dtype)), rows.extent(), in.dtype, device_);
  exchange(in, parts, all, rows, CallMode::blocking);
  combine_rows(scratch_.data(), in.dtype, op, out);
  return {};
}

// Making

std::shared_ptr<Transport> NcclTransport::split(int color, int key) {
  flush();
  ncclComm_t part = nullptr;
  comm_->call("ncclCommSplit", [&](ncclComm_t comm) {
    return ncclCommSplit(comm, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, &part, nullptr);
  });
  if (part == nullptr) return nullptr;
  auto watched = std::make_unique<NcclComm>(part, *comm_);
  int rank = 0;
  int size = 0;
  watched->call("ncclCommUserRank", [&](ncclComm_t comm) { return ncclCommUserRank(comm, &rank); });
  watched->call("ncclCommCount", [&](ncclComm_t comm) { return ncclCommCount(comm, &size); });
  return std::make_shared<NcclTransport>(std::move(watched), rank, size, device_);
}

/// Throws the same error on all ranks if one of them has a complaint.
void agree(Transport& host, const std::string& complaint) {
  std::int32_t failed = complaint.empty() ? host.size() : host.rank();
  host.allreduce(ConstBufferRef(&failed, 1), BufferRef(&failed, 1), ReduceOp::min,
                 CallMode::blocking);
  if (failed == host.size()) return;
  std::array<char, 512> text = {};
  complaint.copy(text.data(), text.size() - 1);
  host.broadcast({text.data(), static_cast<index_t>(text.size()), DType::u8, Device::cpu()}, failed,
                 CallMode::blocking);
  throw AgreedError(fmt::format("NCCL cannot be used: rank {}: {}", failed, text.data()));
}

}  // namespace

int nccl_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

std::shared_ptr<Transport> make_nccl_transport(const std::shared_ptr<Transport>& host,
                                               Device device) {
  std::string complaint;
  ncclUniqueId id = {};
  if (host->rank() == 0) {
    const ncclResult_t code = ncclGetUniqueId(&id);
    if (code != ncclSuccess)
      complaint = fmt::format("ncclGetUniqueId: {}", ncclGetErrorString(code));
  }
  agree(*host, complaint);
  host->broadcast({id.internal, sizeof(id.internal), DType::u8, Device::cpu()}, 0,
                  CallMode::blocking);
  std::unique_ptr<NcclComm> comm;
  try {
    comm = std::make_unique<NcclComm>(id, host, device);
  } catch (const TimeoutError&) {
    throw;  // a rank that did not come to NCCL would not come to agree, either
  } catch (const std::exception& error) {
    complaint = error.what();
  }
  agree(*host, complaint);
  return std::make_shared<NcclTransport>(std::move(comm), host->rank(), host->size(), device);
}

}  // namespace weft::detail
