#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/dtype.hpp>

#include <initializer_list>
#include <string_view>

namespace weft::detail {

/// The ranks that make plans for arrays of a layout together: those of a group, or, of a stack of
/// parts with different groups, all.
const Comm& planning_comm(const Layout& layout);

/// Plans are worked out by every rank for itself, and read the memory of others by them. So what
/// they are made from must be the same on all ranks that make one: layouts (the first one tells
/// which ranks these are), the type of elements, and options. Throws the same AgreedError on all of
/// them, which says who has what, if it is not. One small message, which statistics do not count.
void agree_on_plan(const char* who, std::initializer_list<const Layout*> layouts, DType dtype,
                   std::string_view options = {});

}  // namespace weft::detail
