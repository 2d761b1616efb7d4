#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"

#include <algorithm>

namespace weft::detail {
namespace {

std::string describe(const Fingerprint& call) {
  std::string text = fmt::format("{}(", name_of(static_cast<CallKind>(call[0])));
  std::string comma;
  const auto append = [&](std::string_view what) {
    text += comma + std::string(what);
    comma = ", ";
  };
  if (call[1] >= 0) append(name_of(static_cast<DType>(call[1])));
  if (call[2] >= 0) append(name_of(static_cast<ReduceOp>(call[2])));
  if (call[3] >= 0) append(fmt::format("root {}", call[3]));
  if (call[4] >= 0) append(fmt::format("count {}", call[4]));
  if (call[5] >= 0) append(fmt::format("parts #{:x}", call[5] & 0xffff));
  return text + ")";
}

}  // namespace

std::int64_t hash_of(const Parts& parts) {
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](index_t number) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 1099511628211U;
  };
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    mix(parts.count(rank));
    if (parts.count(rank) > 0) mix(parts.offset(rank));
  }
  return static_cast<std::int64_t>(hash >> 1);
}

void verify(CommState& state, const Fingerprint& mine) {
  Transport& transport = *state.transport;
  const auto ranks = static_cast<std::size_t>(transport.size());
  state.fingerprints.resize(ranks);
  Parts parts;
  parts.make_even(transport.size(), static_cast<index_t>(mine.size()));
  const Memory all(state.fingerprints.data()->data(), parts.extent());
  transport.all_gather(mine, all, parts, When::now);

  const Fingerprint& first = state.fingerprints.front();
  const auto other = std::find_if(state.fingerprints.begin(), state.fingerprints.end(),
                                  [&](const Fingerprint& call) { return call != first; });
  if (other == state.fingerprints.end()) return;
  throw AgreedError(
      fmt::format("ranks disagree about a collective call: rank 0 calls {}, but rank {} calls {}; "
                  "all ranks must "
                  "make the same calls in the same order",
                  describe(first), other - state.fingerprints.begin(), describe(*other)));
}

}  // namespace weft::detail
