#pragma once

#include <weft/core/buffer.hpp>
#include <weft/core/stream.hpp>

#include "comm/nccl_comm.hpp"
#include "comm/self_transport.hpp"
#include "comm/transport.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::detail {

/// Elements as NCCL types: it has no complex numbers and no 16-bit integers.
struct NcclElement {
  ncclDataType_t type;
  index_t pieces = 1;  // of that type in an element
};

inline NcclElement element_of(DType dtype) {
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

inline ncclDataType_t type_of(DType dtype) { return element_of(dtype).type; }
inline std::size_t pieces(const ConstBufferRef& memory) {
  return static_cast<std::size_t>(memory.count * element_of(memory.dtype).pieces);
}

/// The first error of several calls.
class NcclCodes {
 public:
  NcclCodes& operator<<(ncclResult_t code) {
    if (code_ == ncclSuccess) code_ = code;
    return *this;
  }
  ncclResult_t first() const { return code_; }

 private:
  ncclResult_t code_ = ncclSuccess;
};

/// Issues blocking calls to this thread's stream, and nonblocking ones to a side stream, so that
/// they overlap; waiting for them joins the streams. The host does not wait.
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
  enum TicketKind : std::int32_t { issued, to_self };
  struct Message {
    ConstBufferRef out;  // one of the two
    BufferRef in;
    int peer;
  };

  /// Issues f(communicator, stream) to this thread's stream or to the side stream.
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
      NcclCodes codes;
      codes << ncclGroupStart();
      f(comm, stream, codes);
      codes << ncclGroupEnd();
      return codes.first();
    });
  }
  /// Makes the side stream wait for what this thread has issued.
  void fork();
  /// Marks the end of a call on the side stream.
  Ticket join();
  Event& event(std::uint64_t number) { return events_[number % events_.size()]; }

  /// Exchanges parts with all peers in a group, and copies this rank's own.
  Ticket exchange(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                  CallMode mode);

  // Reductions that NCCL lacks: the elements of all ranks are gathered and combined in rank order.
  std::byte* scratch(index_t bytes);
  void combine_rows(const std::byte* rows, DType dtype, ReduceOp op, BufferRef out);
  Ticket allreduce_gathered(ConstBufferRef in, BufferRef out, ReduceOp op);
  Ticket reduce_gathered(ConstBufferRef in, BufferRef out, ReduceOp op, int root);
  Ticket reduce_scatter_gathered(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op);

  std::unique_ptr<NcclComm> comm_;
  Device device_;
  Stream side_stream_;
  std::shared_ptr<Transport> self_;  // messages to this rank itself
  std::vector<Message> collected_;   // until flush
  Event forked_;
  std::uint64_t joined_ = 0;
  std::array<Event, 64> events_;  // the ends of the latest calls on the side stream
  Buffer<std::byte> scratch_;
  std::vector<const void*> inputs_;
};

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

}  // namespace weft::detail
