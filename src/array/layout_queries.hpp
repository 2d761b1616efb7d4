#pragma once

#include <weft/array/layout.hpp>

#include <cstdint>

// Queries of layouts that only the library needs.

namespace weft::detail {

/// Equal for equal layouts, and on all ranks that have built the same layout.
std::uint64_t hash_of(const Layout& layout);

/// The position of a part's first element in this rank's memory of a stack.
index_t part_offset(const Layout& stack, int index);

/// The ranks whose parts together are the array once; not valid() if this rank has all of it. Not
/// for stacks.
const Comm& reduction_comm(const Layout& layout);

}  // namespace weft::detail
