#include "comm/collective_checks.hpp"

#include <weft/core/error.hpp>

#include <algorithm>
#include <vector>

namespace weft::detail {
namespace {

/// The length of this rank's part according to the root's parts.
index_t roots_count(CommState& state, const Parts& parts, int root) {
  std::vector<index_t> counts(static_cast<std::size_t>(state.size()));
  for (int peer = 0; peer < state.size() && state.rank() == root; ++peer) {
    counts[static_cast<std::size_t>(peer)] = parts.count(peer);
  }
  state.transport->broadcast(counts, root, CallMode::blocking);
  return counts[static_cast<std::size_t>(state.rank())];
}

void agree_on_count(CommState& state, index_t sent, index_t expected, int from, int to,
                    const char* call) {
  agree(state, sent == expected ? ""
                                : fmt::format("Comm::{}: rank {} has {} elements for rank {}, "
                                              "which expects {}",
                                              call, from, sent, to, expected));
}

}  // namespace

void verify(CommState& state, const CallFingerprint& mine) {
  throw_if_held(state);
  flush(state);
  Transport& transport = *state.transport;
  const Transport::CallScope scope(transport, name_of_call(mine));
  state.fingerprints.resize(static_cast<std::size_t>(transport.size()));
  Parts parts;
  parts.make_even(transport.size(), static_cast<index_t>(mine.size()));
  const BufferRef all(state.fingerprints.data()->data(), parts.extent());
  transport.all_gather(mine, all, parts, CallMode::blocking);

  const CallFingerprint& first = state.fingerprints.front();
  const auto other = std::find_if(state.fingerprints.begin(), state.fingerprints.end(),
                                  [&](const CallFingerprint& call) { return call != first; });
  if (other == state.fingerprints.end()) return;
  throw AgreedError(
      disagreement(0, first, static_cast<int>(other - state.fingerprints.begin()), *other));
}

void verify_gather(CommState& state, ConstBufferRef in, const Parts& parts, int root) {
  if (!state.checking) return;
  const Transport::CallScope scope(*state.transport, "gather");
  verify(state, {code(CallKind::gather), type_code(in), any, root, any, any});
  agree_on_count(state, in.count, roots_count(state, parts, root), state.rank(), root, "gather");
}

void verify_scatter(CommState& state, ConstBufferRef out, const Parts& parts, int root) {
  if (!state.checking) return;
  const Transport::CallScope scope(*state.transport, "scatter");
  verify(state, {code(CallKind::scatter), type_code(out), any, root, any, any});
  agree_on_count(state, roots_count(state, parts, root), out.count, root, state.rank(), "scatter");
}

void verify_all_to_all(CommState& state, ConstBufferRef in, const Parts& sent,
                       const Parts& received) {
  if (!state.checking) return;
  const Transport::CallScope scope(*state.transport, "all_to_all");
  verify(state, {code(CallKind::all_to_all), type_code(in), any, any, any, any});
  const int size = state.size();
  std::vector<index_t> mine(static_cast<std::size_t>(size));
  std::vector<index_t> theirs(mine.size());
  for (int peer = 0; peer < size; ++peer) mine[static_cast<std::size_t>(peer)] = sent.count(peer);
  Parts one_each;
  one_each.make_even(size, 1);
  state.transport->all_to_all(mine, one_each, theirs, one_each, CallMode::blocking);
  int wrong = 0;
  while (wrong < size - 1 && theirs[static_cast<std::size_t>(wrong)] == received.count(wrong)) {
    ++wrong;
  }
  agree_on_count(state, theirs[static_cast<std::size_t>(wrong)], received.count(wrong), wrong,
                 state.rank(), "all_to_all");
}

}  // namespace weft::detail
