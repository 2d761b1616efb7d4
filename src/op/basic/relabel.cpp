#include <weft/op/basic/relabel.hpp>

#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>

#include "array/reshape_plan.hpp"
#include "op/basic/same_memory.hpp"

#include <vector>

namespace weft {
namespace {

/// Appends the layout, or the parts of a stack that are not stacks.
void append_leaves(const Layout& layout, std::vector<Layout>& leaves) {
  if (!layout.is_stack()) return leaves.push_back(layout);
  for (int index = 0; index < layout.part_count(); ++index) {
    append_leaves(layout.part(index), leaves);
  }
}

/// Whether inner products of both count every element as often. The same on all ranks.
bool count_elements_alike(const Layout& a, const Layout& b) {
  if (a.is_replicated() || b.is_replicated()) return a.is_replicated() == b.is_replicated();
  for (int rank = 0; rank < a.comm().size(); ++rank) {
    if (a.group(rank) != b.group(rank)) return false;
  }
  return true;
}

void check_inner_products(const Layout& from, const Layout& to) {
  if (from.comm().size() == 1) return;
  std::vector<Layout> leaves;
  append_leaves(from, leaves);
  append_leaves(to, leaves);
  std::erase_if(leaves, [](const Layout& leaf) { return leaf.count() == 0; });
  for (const Layout& leaf : leaves) {
    if (count_elements_alike(leaves.front(), leaf)) continue;
    refuse(
        "relabel: from {} to {}: both must be replicated, or neither; if they are not, both must "
        "have the same groups of ranks",
        to_string(from), to_string(to));
  }
}

}  // namespace

template <Scalar T>
LinearOperator<T> relabel(const Layout& from, const Layout& to) {
  detail::check_relabel(from, to);
  if (from == to) return identity<T>(from);
  check_inner_products(from, to);
  return make_operator<detail::SameMemory<T>>("relabel", from, to);
}

#define INSTANTIATE(T) template LinearOperator<T> relabel<T>(const Layout&, const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
