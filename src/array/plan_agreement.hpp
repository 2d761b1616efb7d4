#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/dtype.hpp>

#include <initializer_list>
#include <string_view>

namespace weft::detail {

/// The ranks that build plans for arrays of a layout together: those of a group, or all ranks if
/// the parts of a stack have different groups. The choice is the same on all ranks.
const Comm& planning_comm(const Layout& layout);

/// Checks that all ranks build a plan from the same layouts, type of elements and options, since
/// each rank computes its own and may read the memory of others by it. The first layout determines
/// the ranks. Throws the same AgreedError on all of them, which names the differences. One small
/// message, which statistics do not count.
void agree_on_plan(const char* who, std::initializer_list<const Layout*> layouts, DType dtype,
                   std::string_view options = {});

}  // namespace weft::detail
