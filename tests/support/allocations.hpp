#pragma once

#include <weft/comm/comm.hpp>

#include <functional>

namespace weft::test {

/// Runs `step` twice, then a hundred times, which must allocate nothing: neither from the pools of
/// the CPU and of other_device() nor, on threads, by operator new. Needs operator_new.cpp.
void expect_no_allocation(const Comm& comm, const std::function<void()>& step);

}  // namespace weft::test
