#include <weft/core/device_info.hpp>
#include <weft/core/error.hpp>
#include <weft/kernel/dispatch.hpp>

#include <gtest/gtest.h>

#include <string>

namespace weft {

// Like a user's file without GPU kernels, this file is compiled without WEFT_WITH_CUDA.
TEST(Dispatch, refuses_a_gpu_without_kernels_for_it) {
  bool called = false;
  try {
    dispatch(Device::cuda(0), [&](Cpu) { called = true; });
    ADD_FAILURE() << "the kernel of the CPU ran for a GPU";
  } catch (const DeviceError& error) {
    const bool has_gpu = device_count(DeviceKind::cuda) > 0;
    const std::string expected = has_gpu ? "weft_target_kernels" : "cuda";
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
  EXPECT_FALSE(called);
}

}  // namespace weft
