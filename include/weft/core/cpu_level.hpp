#pragma once

// Kernels for several generations of x86-64 processors in one library. Each *_kernels.cpp file is
// compiled once per level, and its kernels are overloaded on the level's tag. Code of users is
// compiled once, for `Cpu`.

#include <weft/core/device.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The microarchitecture levels of the x86-64 ABI; `any` on other processors and in builds with
/// WEFT_NATIVE.
enum class CpuLevel : std::uint8_t { any, v2, v3, v4 };

struct CpuV2 : Cpu {};
struct CpuV3 : Cpu {};
struct CpuV4 : Cpu {};

/// The level of the kernels in this process: the highest that the build and the processor support,
/// or WEFT_ISA. Throws if there is none.
CpuLevel cpu_level();

/// "x86-64-v3"
std::string to_string(CpuLevel level);

namespace detail {

/// The levels in this build, in ascending order; empty if kernels are compiled once.
std::vector<CpuLevel> built_levels();
/// The highest level of this processor.
CpuLevel highest_level();
/// `wanted`, which must be available; the highest available level if it is `any`.
CpuLevel choose_level(CpuLevel wanted, const std::vector<CpuLevel>& built, CpuLevel highest);

}  // namespace detail
}  // namespace weft
