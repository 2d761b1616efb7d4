#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "comm/number_list.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace weft {
namespace detail {
namespace {

/// One text of each rank, gathered on all ranks. Collective.
class GatheredTexts {
 public:
  GatheredTexts(Transport& transport, std::string_view mine) {
    const auto length = static_cast<index_t>(mine.size());
    std::vector<index_t> lengths(static_cast<std::size_t>(transport.size()));
    Parts one_each;
    one_each.make_even(transport.size(), 1);
    transport.all_gather(ConstBufferRef(&length, 1), lengths, one_each, CallMode::blocking);
    parts_ = Parts(std::move(lengths));
    if (all_empty()) return;
    text_.resize(static_cast<std::size_t>(parts_.extent()));
    transport.all_gather({mine.data(), length, DType::u8, Device::cpu()},
                         {text_.data(), parts_.extent(), DType::u8, Device::cpu()}, parts_,
                         CallMode::blocking);
  }

  bool all_empty() const { return parts_.extent() == 0; }
  std::string_view of(int rank) const {
    return std::string_view(text_).substr(static_cast<std::size_t>(parts_.offset(rank)),
                                          static_cast<std::size_t>(parts_.count(rank)));
  }

 private:
  Parts parts_;
  std::string text_;
};

/// "rank 3", "ranks 0-2, 5".
std::string rank_list(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + list_of(ranks);
}

constexpr CallFingerprint agree_fingerprint = {agree_code, any, any, any, any, any};

}  // namespace

void agree(CommState& state, std::string_view error) {
  if (state.checking) verify(state, agree_fingerprint);
  throw_if_held(state);
  const Transport::CallScope scope(*state.transport, "agree");
  flush(state);
  const GatheredTexts errors(*state.transport, error);
  if (errors.all_empty()) return;
  const int size = state.size();
  std::string text;
  for (int peer = 0; peer < size; ++peer) {
    if (errors.of(peer).empty()) continue;
    // Ranks with the same error share one entry.
    int first = 0;
    int same = 0;
    for (int other = size - 1; other >= 0; --other) {
      if (errors.of(other) != errors.of(peer)) continue;
      first = other;
      ++same;
    }
    if (first != peer) continue;
    const std::string who = same == size ? "all ranks"
                            : same == 1  ? fmt::format("rank {}", peer)
                                         : fmt::format("rank {} and {} more", peer, same - 1);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", who, errors.of(peer));
  }
  throw AgreedError(text);
}

}  // namespace detail

void Comm::agree(std::string_view error) const { detail::agree(*state(), error); }

void Comm::agree_on(std::uint64_t hash, const std::function<std::string()>& describe) const {
  using detail::CallMode;
  detail::CommState& state = *this->state();
  throw_if_held(state);
  if (size() == 1) return;
  if (state.checking) verify(state, detail::agree_fingerprint);
  const detail::Transport::CallScope scope(*state.transport, "agree_on");
  flush(state);
  std::array<std::uint64_t, 2> range = {hash, ~hash};
  state.transport->allreduce(range, range, ReduceOp::max, CallMode::blocking);
  if (range[0] == ~range[1]) return;

  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(size()));
  Parts one_each;
  one_each.make_even(size(), 1);
  state.transport->all_gather(ConstBufferRef(&hash, 1), hashes, one_each, CallMode::blocking);
  const detail::GatheredTexts texts(*state.transport, describe());
  std::string text;
  for (int peer = 0; peer < size(); ++peer) {
    const auto mine = hashes.begin() + peer;
    if (std::find(hashes.begin(), mine, *mine) != mine) continue;
    std::vector<int> same;
    bool has_own_text = true;  // no rank with another hash has the same text
    for (int other = 0; other < size(); ++other) {
      const bool equal = hashes[static_cast<std::size_t>(other)] == *mine;
      if (equal) same.push_back(other);
      if (!equal && texts.of(other) == texts.of(peer)) has_own_text = false;
    }
    text +=
        fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", detail::rank_list(same), texts.of(peer),
                    has_own_text ? "" : fmt::format(" #{:04x}", *mine & 0xffff));
  }
  throw AgreedError("ranks differ in arguments that must be equal on all ranks: " + text);
}

}  // namespace weft
