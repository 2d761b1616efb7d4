#include <weft/core/cpu_level.hpp>
#include <weft/core/error.hpp>
#include <weft/core/format.hpp>

#include "core/environment.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft {
namespace {

#if defined(__x86_64__)
/// CPUID bits that __builtin_cpu_supports does not cover in every compiler.
struct Features {
  unsigned leaf1 = 0;
  unsigned extended1 = 0;

  Features() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned d = 0;
    __get_cpuid(1, &a, &b, &leaf1, &d);
    __get_cpuid(0x80000001, &a, &b, &extended1, &d);
  }
  bool cmpxchg16b() const { return (leaf1 >> 13 & 1) != 0; }
  bool movbe() const { return (leaf1 >> 22 & 1) != 0; }
  bool f16c() const { return (leaf1 >> 29 & 1) != 0; }
  bool lahf() const { return (extended1 & 1) != 0; }
  bool lzcnt() const { return (extended1 >> 5 & 1) != 0; }
};
#endif

}  // namespace

std::string to_string(CpuLevel level) {
  switch (level) {
    case CpuLevel::any: break;
    case CpuLevel::v2: return "x86-64-v2";
    case CpuLevel::v3: return "x86-64-v3";
    case CpuLevel::v4: return "x86-64-v4";
  }
  return "any";
}

CpuLevel cpu_level() {
  static const CpuLevel level =
      detail::choose_level(detail::settings().isa, detail::built_levels(), detail::highest_level());
  return level;
}

namespace detail {

std::vector<CpuLevel> built_levels() {
  return {
#if defined(WEFT_CPU_LEVELS)
    CpuLevel::v2, CpuLevel::v3,
#if WEFT_CPU_LEVELS >= 4
        CpuLevel::v4,
#endif
#endif
  };
}

CpuLevel highest_level() {
#if defined(__x86_64__)
  const Features has;
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("ssse3") ||
      !__builtin_cpu_supports("popcnt") || !has.cmpxchg16b() || !has.lahf()) {
    return CpuLevel::any;
  }
  // __builtin_cpu_supports also checks (XGETBV) that the OS saves the AVX registers.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") || !has.f16c() ||
      !has.lzcnt() || !has.movbe()) {
    return CpuLevel::v2;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl")) {
    return CpuLevel::v3;
  }
  return CpuLevel::v4;
#else
  return CpuLevel::any;
#endif
}

CpuLevel choose_level(CpuLevel wanted, const std::vector<CpuLevel>& built, CpuLevel highest) {
  const bool is_chosen = wanted != CpuLevel::any;
  if (built.empty()) {
    require(!is_chosen, "WEFT_ISA asks for {}, but this build has one set of kernels only", wanted);
    return CpuLevel::any;
  }
  if (highest < built.front()) {
    throw DeviceError(fmt::format(
        "this processor lacks instructions of {}, which this build of Weft needs; build "
        "Weft on this machine with -D WEFT_NATIVE=ON",
        to_string(built.front())));
  }
  if (!is_chosen) return std::min(built.back(), highest);
  require(std::find(built.begin(), built.end(), wanted) != built.end(),
          "WEFT_ISA asks for {}, but this build has {}", wanted, fmt::join(built, ", "));
  require(wanted <= highest, "WEFT_ISA asks for {}, but this processor has no more than {}", wanted,
          highest);
  return wanted;
}

}  // namespace detail
}  // namespace weft
