#pragma once

namespace weft::faults {

/// A program that solves something small on three ranks. Returns its exit code: that of launch, or
/// wrong_result.
int solve();

inline constexpr int wrong_result = 3;

}  // namespace weft::faults
