#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"

#include <algorithm>
#include <string>

namespace weft::detail {
namespace {

const char* name_of_call(const Fingerprint& call) {
  if (call[0] == split_code) return "split";
  if (call[0] == agree_code) return "agree";
  return name_of(static_cast<CallKind>(call[0])).data();
}

std::string describe(const Fingerprint& call) {
  std::string text = fmt::format("{}(", name_of_call(call));
  std::string comma;
  const auto append = [&](std::string_view what) {
    text += comma + std::string(what);
    comma = ", ";
  };
  if (call[1] >= 0) {
    const Device where{static_cast<DeviceKind>(call[1] / device_code), 0};
    const std::string_view type = name_of(static_cast<DType>(call[1] % device_code));
    const std::string device = to_string(where);
    append(where.host_accessible()
               ? std::string(type)
               : fmt::format("{} on {}", type, device.substr(0, device.find(':'))));
  }
  if (call[2] >= 0) append(name_of(static_cast<ReduceOp>(call[2])));
  if (call[3] >= 0) append(fmt::format("root {}", call[3]));
  if (call[4] >= 0) append(fmt::format("count {}", call[4]));
  if (call[5] >= 0) append(fmt::format("parts #{:x}", call[5] & 0xffff));
  return text + ")";
}

}  // namespace

std::string disagreement(int rank, const Fingerprint& call, int other_rank,
                         const Fingerprint& other_call) {
  return fmt::format(
      "ranks disagree about a collective call: rank {} calls {}, but rank {} calls {}; all ranks "
      "must make the same calls in the same order",
      rank, describe(call), other_rank, describe(other_call));
}

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
  throw_if_held(state);
  Transport& transport = *state.transport;
  const Transport::Step step(transport, name_of_call(mine));
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
      disagreement(0, first, static_cast<int>(other - state.fingerprints.begin()), *other));
}

}  // namespace weft::detail

namespace weft {

void Comm::agree(std::string_view complaint) const {
  if (checks_calls()) verify(state(), {detail::agree_code, -1, -1, -1, -1, -1});
  detail::throw_if_held(state());
  const Transport::Step step(*state().transport, "agree");
  flush();
  const auto length = static_cast<index_t>(complaint.size());
  std::vector<index_t> lengths(static_cast<std::size_t>(size()));
  Parts one_each;
  one_each.make_even(size(), 1);
  state().transport->all_gather(ConstMemory(&length, 1), lengths, one_each, When::now);
  const Parts parts(std::move(lengths));
  if (parts.extent() == 0) return;

  std::string all(static_cast<std::size_t>(parts.extent()), ' ');
  state().transport->all_gather({complaint.data(), length, DType::u8, Device::cpu()},
                                {all.data(), parts.extent(), DType::u8, Device::cpu()}, parts,
                                When::now);
  // The same complaint is told once, with all who made it.
  std::string text;
  for (int peer = 0; peer < size(); ++peer) {
    const auto said = [&](int who) {
      return std::string_view(all).substr(static_cast<std::size_t>(parts.offset(who)),
                                          static_cast<std::size_t>(parts.count(who)));
    };
    if (said(peer).empty()) continue;
    int first = 0;
    int same = 0;
    for (int other = size() - 1; other >= 0; --other) {
      if (said(other) != said(peer)) continue;
      first = other;
      ++same;
    }
    if (first != peer) continue;
    const std::string who = same == size() ? "all ranks"
                            : same == 1    ? fmt::format("rank {}", peer)
                                           : fmt::format("rank {} and {} more", peer, same - 1);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", who, said(peer));
  }
  throw AgreedError(text);
}

}  // namespace weft
