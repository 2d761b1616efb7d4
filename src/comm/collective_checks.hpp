#pragma once

// With checked calls, ranks compare the arguments of a collective before they make it.

#include "comm/comm_state.hpp"

namespace weft::detail {

inline void verify_if_checking(CommState& state, const CallFingerprint& call) {
  if (state.checking) verify(state, call);
}

/// Gather: compares the root's parts with what this rank sends.
void verify_gather(CommState& state, ConstBufferRef in, const Parts& parts, int root);
/// Scatter: compares the root's parts with what this rank receives.
void verify_scatter(CommState& state, ConstBufferRef out, const Parts& parts, int root);
/// Compares what ranks send to each other with what they expect.
void verify_all_to_all(CommState& state, ConstBufferRef in, const Parts& sent,
                       const Parts& received);

}  // namespace weft::detail
