// The work of a rank in a collective that all ranks have announced.

#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/memory_ops.hpp"
#include "comm/thread_transport.hpp"

#include <algorithm>
#include <numeric>

namespace weft::detail {
namespace {

/// All ranks must have the same number of elements.
bool has_one_count(const CollectiveCall& call) {
  return call.eager ||
         (call.in_parts == nullptr && call.out_parts == nullptr && call.reader == nullptr);
}

/// A tag holds only 32 bits of a count, so that counts are compared as well. Not for calls with
/// data in the slot: it would cost another cache line of each peer.
bool same_calls(const Slot& mine, const Slot& theirs) {
  if (mine.tag != theirs.tag) return false;
  return mine.call.eager || !has_one_count(mine.call) || mine.call.in.count == theirs.call.in.count;
}

CallFingerprint fingerprint_of(const CollectiveCall& call) {
  CallFingerprint print = {code(call.kind), any, any, any, any, any};
  if (call.kind == CallKind::barrier) return print;
  print[1] = type_code(call.in);
  switch (call.kind) {
    case CallKind::allreduce:
    case CallKind::reduce_scatter: print[2] = code(call.op); break;
    case CallKind::reduce: print[2] = code(call.op); [[fallthrough]];
    case CallKind::broadcast:
    case CallKind::gather:
    case CallKind::scatter: print[3] = call.root; break;
    default: break;
  }
  if (has_one_count(call)) print[4] = call.in.count;
  return print;
}

}  // namespace

/// Different tags reveal ranks that make different calls before one accesses memory beyond the end
/// of another's buffer. (Lengths of single parts are compared separately.)
std::uint64_t ThreadTransport::tag_of(const CollectiveCall& call) {
  static_assert(call_kinds <= 16 && max_thread_ranks <= 1 << 12);
  std::uint64_t tag = has_one_count(call) ? static_cast<std::uint32_t>(call.in.count) : 0;
  const auto append = [&](auto field, int bits) {
    tag = tag << bits | static_cast<std::uint64_t>(field);
  };
  append(call.kind, 4);
  append(call.op, 3);
  append(call.in.dtype, 4);
  append(call.in.where.kind, 2);
  append(call.eager, 1);
  append(call.reader != nullptr, 1);
  append(call.root, 12);
  return tag;
}

void ThreadTransport::require_same_call(std::uint64_t sequence) {
  const Slot& mine = slot(rank(), sequence);
  bool same = true;
  for (int peer = 0; peer < size(); ++peer) same = same && same_calls(mine, slot(peer, sequence));
  if (same) [[likely]]
    return;
  // All ranks name the same two calls.
  const Slot& first = slot(0, sequence);
  int other = 1;
  while (same_calls(first, slot(other, sequence))) ++other;
  throw CommError(disagreement(job_rank(0), fingerprint_of(first.call), job_rank(other),
                               fingerprint_of(slot(other, sequence).call)));
}

void ThreadTransport::require_same_part(int peer, index_t theirs, index_t mine) const {
  if (theirs == mine) [[likely]]
    return;
  throw CommError(fmt::format("rank {} has {} elements for rank {}, which expects {}",
                              job_rank(peer), theirs, job_rank(), mine));
}

void ThreadTransport::work(const CollectiveCall& call, std::uint64_t sequence) {
  require_same_call(sequence);
  if (call.eager) {
    // After a failure, memory of abandoned calls must not be written.
    if (!job().stopped()) work_eagerly(call, sequence);
    return;
  }
  const BusyMark busy(board_.busy);
  if (job().stopped()) return;
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

/// Each rank reduces one slice and writes it to all receivers: nothing is read or written twice.
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
    // Each rank starts with a different peer, so that they do not all read from the same one.
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

}  // namespace weft::detail
