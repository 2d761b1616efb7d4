#pragma once

#include <weft/array/layout.hpp>

#include <algorithm>
#include <vector>

namespace weft::detail {

/// The group that each rank belongs to.
inline std::vector<int> groups_of(const Layout& layout) {
  std::vector<int> groups;
  for (int rank = 0; rank < layout.comm().size(); ++rank) groups.push_back(layout.group(rank));
  return groups;
}

/// All of an array of this shape on every rank: the same copies for the ranks of a group.
inline Layout replicated_like(const Layout& layout, const Shape& shape) {
  const Layout copies = Layout::replicated(layout.comm(), shape).on(layout.device());
  const std::vector<int> groups = groups_of(layout);
  const bool one = std::all_of(groups.begin(), groups.end(), [](int group) { return group == 0; });
  return one ? copies : copies.within(groups);
}

/// There is somebody to send messages to.
inline bool has_peers(const Comm& comm) { return comm.valid() && comm.size() > 1; }

}  // namespace weft::detail
