#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/number_list.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft::detail {
namespace {

const char* name_of_call(const Fingerprint& call) {
  if (call[0] == split_code) return "split";
  if (call[0] == agree_code) return "agree";
  return to_string(static_cast<CallKind>(call[0])).data();
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
    const std::string_view type = to_string(static_cast<DType>(call[1] % device_code));
    const std::string device = to_string(where);
    append(where.host_accessible()
               ? std::string(type)
               : fmt::format("{} on {}", type, device.substr(0, device.find(':'))));
  }
  if (call[2] >= 0) append(to_string(static_cast<ReduceOp>(call[2])));
  if (call[3] >= 0) append(fmt::format("root {}", call[3]));
  if (call[4] >= 0) append(fmt::format("count {}", call[4]));
  if (call[5] >= 0) append(fmt::format("parts #{:x}", call[5] & 0xffff));
  return text + ")";
}

/// What each rank has to say, brought to all of them.
class Sayings {
 public:
  Sayings(Transport& transport, std::string_view mine) {
    const auto length = static_cast<index_t>(mine.size());
    std::vector<index_t> lengths(static_cast<std::size_t>(transport.size()));
    Parts one_each;
    one_each.make_even(transport.size(), 1);
    transport.all_gather(ConstBufferRef(&length, 1), lengths, one_each, CallMode::blocking);
    parts_ = Parts(std::move(lengths));
    if (nothing()) return;
    all_.resize(static_cast<std::size_t>(parts_.extent()));
    transport.all_gather({mine.data(), length, DType::u8, Device::cpu()},
                         {all_.data(), parts_.extent(), DType::u8, Device::cpu()}, parts_,
                         CallMode::blocking);
  }

  bool nothing() const { return parts_.extent() == 0; }
  std::string_view of(int rank) const {
    return std::string_view(all_).substr(static_cast<std::size_t>(parts_.offset(rank)),
                                         static_cast<std::size_t>(parts_.count(rank)));
  }

 private:
  Parts parts_;
  std::string all_;
};

/// "rank 3", "ranks 0-2, 5".
std::string name_ranks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + list_of(ranks);
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
  const BufferRef all(state.fingerprints.data()->data(), parts.extent());
  transport.all_gather(mine, all, parts, CallMode::blocking);

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
  const detail::Sayings said(*state().transport, complaint);
  if (said.nothing()) return;
  // The same complaint is told once, with all who made it.
  std::string text;
  for (int peer = 0; peer < size(); ++peer) {
    if (said.of(peer).empty()) continue;
    int first = 0;
    int same = 0;
    for (int other = size() - 1; other >= 0; --other) {
      if (said.of(other) != said.of(peer)) continue;
      first = other;
      ++same;
    }
    if (first != peer) continue;
    const std::string who = same == size() ? "all ranks"
                            : same == 1    ? fmt::format("rank {}", peer)
                                           : fmt::format("rank {} and {} more", peer, same - 1);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", who, said.of(peer));
  }
  throw AgreedError(text);
}

void Comm::agree_on(std::uint64_t number, const std::function<std::string()>& describe) const {
  detail::throw_if_held(state());
  if (size() == 1) return;
  if (checks_calls()) verify(state(), {detail::agree_code, -1, -1, -1, -1, -1});
  const Transport::Step step(*state().transport, "agree_on");
  flush();
  std::array<std::uint64_t, 2> range = {number, ~number};
  state().transport->allreduce(range, range, ReduceOp::max, CallMode::blocking);
  if (range[0] == ~range[1]) return;

  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(size()));
  Parts one_each;
  one_each.make_even(size(), 1);
  state().transport->all_gather(ConstBufferRef(&number, 1), numbers, one_each, CallMode::blocking);
  const detail::Sayings said(*state().transport, describe());
  std::string text;
  for (int peer = 0; peer < size(); ++peer) {
    const auto mine = numbers.begin() + peer;
    if (std::find(numbers.begin(), mine, *mine) != mine) continue;
    std::vector<int> same;
    bool is_only = true;  // the text alone would not tell it from another's
    for (int other = 0; other < size(); ++other) {
      const bool equal = numbers[static_cast<std::size_t>(other)] == *mine;
      if (equal) same.push_back(other);
      if (!equal && said.of(other) == said.of(peer)) is_only = false;
    }
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", detail::name_ranks(same),
                        said.of(peer), is_only ? "" : fmt::format(" #{:04x}", *mine & 0xffff));
  }
  throw AgreedError("ranks differ in what must be the same on all of them: " + text);
}

}  // namespace weft
