#include "array/plan_agreement.hpp"

#include <fmt/core.h>

#include "array/layout_node.hpp"
#include "array/layout_queries.hpp"
#include "core/hash.hpp"

#include <string>

namespace weft::detail {
namespace {

const Layout& first_leaf(const Layout& layout) {
  return layout.is_stack() ? first_leaf(layout.part(0)) : layout;
}

/// Whether all leaves of a layout have the groups of `leaf`. Compares their ranks, so that all
/// ranks get the same answer; the equality of communicators is known to their own ranks only.
bool all_have_groups_of(const Layout& leaf, const Layout& layout) {
  if (!layout.is_stack())
    return LayoutBuilder::node(layout).groups == LayoutBuilder::node(leaf).groups;
  for (int index = 0; index < layout.part_count(); ++index) {
    if (!all_have_groups_of(leaf, layout.part(index))) return false;
  }
  return true;
}

}  // namespace

const Comm& planning_comm(const Layout& layout) {
  const Layout& leaf = first_leaf(layout);
  return all_have_groups_of(leaf, layout) ? leaf.group_comm() : layout.comm();
}

void agree_on_plan(const char* who, std::initializer_list<const Layout*> layouts, DType dtype,
                   std::string_view options) {
  const Comm& comm = planning_comm(**layouts.begin());
  if (comm.size() == 1) return;
  Hash hash;
  hash.add(std::string_view(who)).add(static_cast<int>(dtype)).add(options);
  for (const Layout* layout : layouts) hash.add(hash_of(*layout));
  comm.agree_on(hash.value(), [&] {
    std::string text;
    for (const Layout* layout : layouts) text += (text.empty() ? "" : " to ") + to_string(*layout);
    return fmt::format("{} of {} {}{}{}", who, to_string(dtype), text, options.empty() ? "" : ", ",
                       options);
  });
}

}  // namespace weft::detail
