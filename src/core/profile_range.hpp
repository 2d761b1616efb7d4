#pragma once

namespace weft::detail {

/// Names the work of its scope in NVIDIA's profilers (an NVTX range); nothing without CUDA.
class ProfileRange {
 public:
  explicit ProfileRange(const char* name);
  ~ProfileRange();
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
};

}  // namespace weft::detail
