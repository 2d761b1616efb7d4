#pragma once

#include <weft/comm/comm.hpp>

#include <functional>

namespace weft::test {

/// Runs `step` twice, and then a hundred times without a single allocation: neither from the pools
/// of the CPU and of other_device() nor, on threads, by operator new, which this replaces in the
/// binary that it is linked into.
void expect_no_allocation(const Comm& comm, const std::function<void()>& step);

}  // namespace weft::test
