#include "array/plan_agreement.hpp"

#include <fmt/core.h>

#include "array/layout_node.hpp"
#include "array/layout_queries.hpp"
#include "core/hash.hpp"

#include <string>

namespace weft::detail {
namespace {

/// The common group of all leaves of a layout; null if they differ.
const Comm* common_group(const Layout& layout) {
  if (!layout.is_stack()) return &layout.group_comm();
  const Comm* common = common_group(layout.part(0));
  for (int index = 1; index < layout.part_count() && common != nullptr; ++index) {
    const Comm* group = common_group(layout.part(index));
    if (group == nullptr || !(*group == *common)) common = nullptr;
  }
  return common;
}

}  // namespace

const Comm& planning_comm(const Layout& layout) {
  const Comm* common = common_group(layout);
  return common == nullptr ? layout.comm() : *common;
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
