#include <weft/core/stream.hpp>

#include "comm/memory_ops.hpp"
#include "comm/nccl_transport.hpp"

#include <vector>

namespace weft::detail {
namespace {

/// NCCL supports this reduction.
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

/// All elements are the part of one rank.
Parts only(int ranks, int rank, index_t count) {
  std::vector<index_t> counts(static_cast<std::size_t>(ranks));
  counts[static_cast<std::size_t>(rank)] = count;
  return Parts(std::move(counts));
}

}  // namespace

Ticket NcclTransport::barrier(CallMode) {
  const ConstBufferRef token(scratch(1), 1, DType::u8, device_);
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
      "ncclBroadcast", mode, [&](ncclComm_t comm, cudaStream_t stream, NcclCodes& codes) {
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
  return issue_group("messages", mode, [&](ncclComm_t comm, cudaStream_t stream, NcclCodes& codes) {
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
  if (!is_native(in.dtype, op)) return allreduce_gathered(in, out, op);
  return issue("ncclAllReduce", mode, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(in.data, out.data, pieces(in), type_of(in.dtype), native(op), comm,
                         stream);
  });
}

Ticket NcclTransport::reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root,
                             CallMode mode) {
  if (!is_native(in.dtype, op)) return reduce_gathered(in, out, op, root);
  return issue("ncclReduce", mode, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclReduce(in.data, out.data, pieces(in), type_of(in.dtype), native(op), root, comm,
                      stream);
  });
}

Ticket NcclTransport::reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out,
                                     ReduceOp op, CallMode mode) {
  if (!is_native(in.dtype, op)) return reduce_scatter_gathered(in, parts, out, op);
  const ncclDataType_t type = type_of(in.dtype);
  if (parts.even()) {
    return issue("ncclReduceScatter", mode, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclReduceScatter(in.data, out.data, pieces(out), type, native(op), comm, stream);
    });
  }
  return issue_group("ncclReduce", mode,
                     [&](ncclComm_t comm, cudaStream_t stream, NcclCodes& codes) {
                       for (int root = 0; root < size(); ++root) {
                         const ConstBufferRef part = in.part(parts.offset(root), parts.count(root));
                         if (part.count == 0) continue;
                         codes << ncclReduce(part.data, out.data, pieces(part), type, native(op),
                                             root, comm, stream);
                       }
                     });
}

std::byte* NcclTransport::scratch(index_t bytes) {
  if (scratch_.size() < bytes) scratch_ = Buffer<std::byte>(bytes, device_);
  return scratch_.data();
}

void NcclTransport::combine_rows(const std::byte* rows, DType dtype, ReduceOp op, BufferRef out) {
  inputs_.clear();
  for (int peer = 0; peer < size(); ++peer) inputs_.push_back(rows + peer * out.bytes());
  void* const outputs[] = {out.data};
  combine(device_, dtype, op, inputs_, outputs, out.count);
}

Ticket NcclTransport::allreduce_gathered(ConstBufferRef in, BufferRef out, ReduceOp op) {
  Parts rows;
  rows.make_even(size(), in.count);
  const BufferRef all(scratch(rows.extent() * size_of(in.dtype)), rows.extent(), in.dtype, device_);
  all_gather(in, all, rows, CallMode::blocking);
  combine_rows(scratch_.data(), in.dtype, op, out);
  return {};
}

Ticket NcclTransport::reduce_gathered(ConstBufferRef in, BufferRef out, ReduceOp op, int root) {
  Parts rows;
  rows.make_even(size(), in.count);
  const bool here = rank() == root;
  const index_t count = here ? rows.extent() : 0;
  const BufferRef all(scratch(count * size_of(in.dtype)), count, in.dtype, device_);
  gather(in, all, rows, root, CallMode::blocking);
  if (here) combine_rows(scratch_.data(), in.dtype, op, out);
  return {};
}

Ticket NcclTransport::reduce_scatter_gathered(ConstBufferRef in, const Parts& parts, BufferRef out,
                                              ReduceOp op) {
  Parts rows;
  rows.make_even(size(), out.count);
  const BufferRef all(scratch(rows.extent() * size_of(in.dtype)), rows.extent(), in.dtype, device_);
  exchange(in, parts, all, rows, CallMode::blocking);
  combine_rows(scratch_.data(), in.dtype, op, out);
  return {};
}

}  // namespace weft::detail
