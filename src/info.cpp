#include <weft/core/cpu_level.hpp>
#include <weft/core/device_info.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include "comm/device_route.hpp"
#include "comm/fast_info.hpp"
#include "comm/launch_checks.hpp"
#include "core/environment.hpp"
#ifdef WEFT_WITH_CUDA
#include "core/cuda_info.hpp"
#endif
#ifdef WEFT_WITH_MPI
#include "comm/mpi_library.hpp"
#endif
#ifdef WEFT_WITH_NCCL
#include "comm/nccl_library.hpp"
#endif
#ifdef WEFT_BLAS
#include <cblas.h>
#endif
#ifdef WEFT_WITH_PNG
#include <png.h>
#endif

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr const char* absent = "not built in";

#ifdef _OPENMP
constexpr const char* openmp = "yes";
#else
constexpr const char* openmp = absent;
#endif

#ifdef WEFT_WITH_FFTW
constexpr const char* fftw = "yes";
#else
constexpr const char* fftw = absent;
#endif

const char* chosen_by() { return detail::settings().isa == CpuLevel::any ? "" : ", by WEFT_ISA"; }

/// The processors that this build has kernels for.
std::string kernels_for() {
  std::vector<std::string> levels;
  for (const CpuLevel level : detail::built_levels()) levels.push_back(to_string(level));
  if (!levels.empty()) return fmt::format("{}", fmt::join(levels, ", "));
  return WEFT_IS_NATIVE ? "the processor of the build machine"
                        : "the default target of the compiler";
}

/// The processor that OpenBLAS has selected its kernels for.
std::string blas_core() {
#ifdef WEFT_BLAS
  return openblas_get_corename();
#else
  return "";
#endif
}

std::string blas() {
#ifdef WEFT_BLAS
  return fmt::format("{}, code for {}", WEFT_BLAS, blas_core());
#else
  return absent;
#endif
}

/// The better choice if OpenBLAS does not recognise this processor and uses its oldest kernels.
std::string better_blas_core() {
#ifdef __x86_64__
  constexpr std::array old = {"Prescott", "Core2", "Nehalem", "Generic", "generic"};
  if (std::find(old.begin(), old.end(), blas_core()) == old.end()) return "";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2")) return "Haswell";
#endif
  return "";
}

std::string png() {
#ifdef WEFT_WITH_PNG
  return fmt::format("libpng {}", png_get_libpng_ver(nullptr));
#else
  return absent;
#endif
}

std::string mpi() {
#ifdef WEFT_WITH_MPI
  return detail::mpi_library_version();
#else
  return absent;
#endif
}

std::string cuda() {
#ifdef WEFT_WITH_CUDA
  const std::string driver = detail::cuda_driver_version();
  return fmt::format("{}, {}", detail::cuda_runtime_version(),
                     driver.empty() ? "no driver" : "driver for " + driver);
#else
  return absent;
#endif
}

std::string nccl() {
#ifdef WEFT_WITH_NCCL
  return detail::nccl_version_text(detail::nccl_version());
#else
  return absent;
#endif
}

std::string describe(const DeviceInfo& device) {
  constexpr double gib = 1 << 30;
  std::string text =
      fmt::format("{}, {:.1f} GiB", device.name, static_cast<double>(device.memory_bytes) / gib);
  if (!device.compute_capability.empty()) {
    text += fmt::format(", compute capability {}", device.compute_capability);
  }
  if (!device.id.empty()) text += ", " + device.id;
  return text;
}

}  // namespace

std::string_view version() { return WEFT_VERSION; }

std::vector<Fact> system_facts() {
  std::vector<Fact> facts = {
      {"build", "version", std::string(version())},
      {"build", "compiler", WEFT_COMPILER},
      {"build", "build type", WEFT_BUILD_TYPE},
      {"build", "kernels for", kernels_for()},
      {"build", "OpenMP", openmp},
      {"build", "MPI", mpi()},
      {"build", "FFTW", fftw},
      {"build", "PNG", png()},
      {"build", "BLAS", blas()},
  };
  if (const std::string better = better_blas_core(); !better.empty()) {
    facts.push_back(
        {"build", "BLAS advice",
         "OpenBLAS does not recognise this processor and is slow: set OPENBLAS_CORETYPE=" +
             better});
  }
  facts.push_back({"build", "CUDA", cuda()});
  facts.push_back({"build", "NCCL", nccl()});
  const detail::RankLocation location = detail::this_location();
  facts.push_back({"machine", "host", location.host});
  facts.push_back({"machine", "cores", std::to_string(location.cores.size())});
  facts.push_back({"machine", "cpu", describe(device_info(Device::cpu()))});
  if (const CpuLevel level = cpu_level(); level != CpuLevel::any) {
    facts.push_back({"machine", "kernels", to_string(level) + chosen_by()});
  }
  const int gpus = device_count(DeviceKind::cuda);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const Device device = Device::cuda(gpu);
    facts.push_back({"machine", to_string(device), describe(device_info(device))});
  }
  if (gpus == 0) facts.push_back({"machine", "cuda", "no GPU that this build can use"});
  for (const auto& [name, value] : detail::fast_allreduce_info()) {
    facts.push_back({"fast allreduce", name, value});
  }
  return facts;
}

}  // namespace weft
