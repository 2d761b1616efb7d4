#pragma once

namespace weft::faults {

/// Solves a small problem on three ranks. Returns the exit code of launch, or wrong_result.
int solve();

inline constexpr int wrong_result = 3;

}  // namespace weft::faults
