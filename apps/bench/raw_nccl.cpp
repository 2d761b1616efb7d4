#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "bench/raw.hpp"

#include <nccl.h>

#include <optional>

namespace weft::bench {
namespace {

void check(ncclResult_t code) {
  if (code == ncclSuccess) [[likely]]
    return;
  throw CommError(fmt::format("the bare call of NCCL failed: {}", ncclGetErrorString(code)));
}

/// NCCL has no complex numbers and no 16-bit integers.
std::optional<ncclDataType_t> nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return ncclFloat16;
    case DType::bf16: return ncclBfloat16;
    case DType::f32: return ncclFloat32;
    case DType::f64: return ncclFloat64;
    case DType::i8: return ncclInt8;
    case DType::i32: return ncclInt32;
    case DType::i64: return ncclInt64;
    case DType::u8: return ncclUint8;
    case DType::u32: return ncclUint32;
    case DType::u64: return ncclUint64;
    case DType::c64:
    case DType::c128:
    case DType::i16:
    case DType::u16: break;
  }
  return {};
}

std::optional<ncclRedOp_t> nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return ncclSum;
    case ReduceOp::prod: return ncclProd;
    case ReduceOp::min: return ncclMin;
    case ReduceOp::max: return ncclMax;
    case ReduceOp::avg: return ncclAvg;
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor: break;
  }
  return {};
}

/// The sends and receives of a group, in bytes, for collectives that NCCL does not have.
struct Message {
  int peer;
  std::byte* data;
  std::size_t bytes;
};

class RawNccl final : public Raw {
 public:
  explicit RawNccl(const Comm& world) : stream_(Stream::current(world.device())) {
    ncclUniqueId id{};
    if (world.rank() == 0) check(ncclGetUniqueId(&id));
    world.broadcast(BufferRef(&id, sizeof(id), DType::u8, Device::cpu()), 0);
    check(ncclCommInitRank(&comm_, world.size(), id, world.rank()));
  }
  ~RawNccl() override { ncclCommDestroy(comm_); }
  RawNccl(const RawNccl&) = delete;
  RawNccl& operator=(const RawNccl&) = delete;

  std::string_view name() const override { return "NCCL"; }

  std::function<void()> bind(Kind kind, const Where& at, const Plan& plan, Form, BufferRef in,
                             BufferRef out) const override {
    switch (kind) {
      case Kind::allreduce:
      case Kind::reduce:
      case Kind::reduce_scatter: return bind_reduction(kind, at, plan, in, out);
      case Kind::all_gather:
        return [=, this, bytes = bytes_of(in)] {
          check(ncclAllGather(in.data, out.data, bytes, ncclUint8, comm_, stream()));
        };
      case Kind::broadcast:
        return [=, this, bytes = bytes_of(out), root = at.root] {
          check(ncclBroadcast(out.data, out.data, bytes, ncclUint8, root, comm_, stream()));
        };
      case Kind::gather:
      case Kind::scatter:
      case Kind::all_to_all:
      case Kind::all_to_all_v:
      case Kind::sendrecv: return bind_messages(kind, at, plan, in, out);
      case Kind::halo:
      case Kind::redistribute: break;
    }
    return {};
  }

 private:
  cudaStream_t stream() const { return static_cast<cudaStream_t>(stream_.handle()); }
  static std::size_t bytes_of(const BufferRef& memory) {
    return static_cast<std::size_t>(memory.bytes());
  }

  std::function<void()> bind_reduction(Kind kind, const Where& at, const Plan& plan, BufferRef in,
                                       BufferRef out) const {
    const auto maybe_type = nccl_type(at.dtype);
    const auto maybe_op = nccl_op(at.op);
    if (!maybe_type || !maybe_op) return {};
    const ncclDataType_t type = *maybe_type;
    const ncclRedOp_t op = *maybe_op;
    const auto count = static_cast<std::size_t>(plan.count);
    if (kind == Kind::allreduce) {
      return
          [=, this] { check(ncclAllReduce(in.data, out.data, count, type, op, comm_, stream())); };
    }
    if (kind == Kind::reduce) {
      return [=, this, root = at.root] {
        check(ncclReduce(in.data, out.data, count, type, op, root, comm_, stream()));
      };
    }
    return [=, this] {
      check(ncclReduceScatter(in.data, out.data, count, type, op, comm_, stream()));
    };
  }

  std::function<void()> bind_messages(Kind kind, const Where& at, const Plan& plan, BufferRef in,
                                      BufferRef out) const {
    std::vector<Message> sends;
    std::vector<Message> recvs;
    const auto add = [](std::vector<Message>& list, int peer, const BufferRef& all, index_t first,
                        index_t count) {
      const BufferRef part = all.part(first, count);
      if (count > 0) list.push_back({peer, static_cast<std::byte*>(part.data), bytes_of(part)});
    };
    const index_t count = plan.count;
    const bool is_root = at.rank == at.root;
    switch (kind) {
      case Kind::gather:
        add(sends, at.root, in, 0, count);
        for (int r = 0; is_root && r < at.ranks; ++r) add(recvs, r, out, r * count, count);
        break;
      case Kind::scatter:
        for (int r = 0; is_root && r < at.ranks; ++r) add(sends, r, in, r * count, count);
        add(recvs, at.root, out, 0, count);
        break;
      case Kind::sendrecv:
        add(sends, (at.rank + 1) % at.ranks, in, 0, count);
        add(recvs, (at.rank + at.ranks - 1) % at.ranks, out, 0, count);
        break;
      default:
        for (int r = 0; r < at.ranks; ++r) {
          const bool even = kind == Kind::all_to_all;
          add(sends, r, in, even ? r * count : plan.sent.offset(r),
              even ? count : plan.sent.count(r));
          add(recvs, r, out, even ? r * count : plan.received.offset(r),
              even ? count : plan.received.count(r));
        }
    }
    return [=, this] {
      check(ncclGroupStart());
      for (const Message& m : sends) {
        check(ncclSend(m.data, m.bytes, ncclUint8, m.peer, comm_, stream()));
      }
      for (const Message& m : recvs) {
        check(ncclRecv(m.data, m.bytes, ncclUint8, m.peer, comm_, stream()));
      }
      check(ncclGroupEnd());
    };
  }

  Stream stream_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Raw> make_raw_nccl(const Comm& world) { return std::make_unique<RawNccl>(world); }

}  // namespace weft::bench
