#include <weft/core/error.hpp>

#include "bench/raw.hpp"

#include <mpi.h>

#include <limits>

namespace weft::bench {
namespace {

void check(int code) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(fmt::format("the bare call of MPI failed: {}", std::string(text)));
}

/// MPI_DATATYPE_NULL if MPI has no such type.
MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return MPI_DATATYPE_NULL;
    case DType::f32: return MPI_FLOAT;
    case DType::f64: return MPI_DOUBLE;
    case DType::c64: return MPI_C_FLOAT_COMPLEX;
    case DType::c128: return MPI_C_DOUBLE_COMPLEX;
    case DType::i8: return MPI_INT8_T;
    case DType::i16: return MPI_INT16_T;
    case DType::i32: return MPI_INT32_T;
    case DType::i64: return MPI_INT64_T;
    case DType::u8: return MPI_UINT8_T;
    case DType::u16: return MPI_UINT16_T;
    case DType::u32: return MPI_UINT32_T;
    case DType::u64: break;
  }
  return MPI_UINT64_T;
}

/// MPI_OP_NULL if MPI has no such operation.
MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return MPI_SUM;
    case ReduceOp::prod: return MPI_PROD;
    case ReduceOp::min: return MPI_MIN;
    case ReduceOp::max: return MPI_MAX;
    case ReduceOp::bit_and: return MPI_BAND;
    case ReduceOp::bit_or: return MPI_BOR;
    case ReduceOp::bit_xor: return MPI_BXOR;
    case ReduceOp::avg: break;
  }
  return MPI_OP_NULL;
}

/// Counts and offsets of parts as MPI takes them.
struct IntParts {
  std::vector<int> counts;
  std::vector<int> offsets;

  explicit IntParts(const Parts& parts) {
    for (int rank = 0; rank < parts.ranks(); ++rank) {
      counts.push_back(static_cast<int>(parts.count(rank)));
      offsets.push_back(static_cast<int>(parts.offset(rank)));
    }
  }
};

class RawMpi final : public Raw {
 public:
  std::string_view name() const override { return "MPI"; }

  std::function<void()> bind(Kind kind, const Where& at, const Plan& plan, Form form, BufferRef in,
                             BufferRef out) const override {
    const MPI_Datatype type = mpi_type(at.dtype);
    const MPI_Op op = mpi_op(at.op);
    const bool reduces =
        kind == Kind::allreduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
    if (type == MPI_DATATYPE_NULL || (reduces && op == MPI_OP_NULL)) return {};
    if (plan.bytes / size_of(at.dtype) > std::numeric_limits<int>::max()) return {};

    const int count = static_cast<int>(plan.count);
    const int root = at.root;
    const bool in_place = form == Form::in_place;
    const bool in_place_here = in_place && at.rank == root;
    const void* from = in.data;
    void* to = out.data;
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
      case Kind::allreduce:
        if (in_place) from = MPI_IN_PLACE;
        return [=] { check(MPI_Allreduce(from, to, count, type, op, comm)); };
      case Kind::reduce:
        if (in_place_here) from = MPI_IN_PLACE;
        return [=] { check(MPI_Reduce(from, to, count, type, op, root, comm)); };
      case Kind::reduce_scatter:
        if (in_place) {  // MPI stores the result at the start of the input
          to = in.data;
          from = MPI_IN_PLACE;
        }
        return [=] { check(MPI_Reduce_scatter_block(from, to, count, type, op, comm)); };
      case Kind::all_gather:
        if (in_place) from = MPI_IN_PLACE;
        return [=] { check(MPI_Allgather(from, count, type, to, count, type, comm)); };
      case Kind::broadcast: return [=] { check(MPI_Bcast(to, count, type, root, comm)); };
      case Kind::gather:
        if (in_place_here) from = MPI_IN_PLACE;
        return [=] { check(MPI_Gather(from, count, type, to, count, type, root, comm)); };
      case Kind::scatter:
        if (in_place_here) to = MPI_IN_PLACE;
        return [=] { check(MPI_Scatter(from, count, type, to, count, type, root, comm)); };
      case Kind::all_to_all:
        return [=] { check(MPI_Alltoall(from, count, type, to, count, type, comm)); };
      case Kind::all_to_all_v:
        return [=, sent = IntParts(plan.sent), received = IntParts(plan.received)] {
          check(MPI_Alltoallv(from, sent.counts.data(), sent.offsets.data(), type, to,
                              received.counts.data(), received.offsets.data(), type, comm));
        };
      case Kind::sendrecv:
        return
            [=, next = (at.rank + 1) % at.ranks, previous = (at.rank + at.ranks - 1) % at.ranks] {
              check(MPI_Sendrecv(from, count, type, next, 0, to, count, type, previous, 0, comm,
                                 MPI_STATUS_IGNORE));
            };
      case Kind::halo:
      case Kind::redistribute: break;
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<Raw> make_raw_mpi(const Comm&) { return std::make_unique<RawMpi>(); }

}  // namespace weft::bench
