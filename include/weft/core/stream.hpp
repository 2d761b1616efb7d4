#pragma once

#include <weft/core/device.hpp>

namespace weft {

/// The queue that work on a device is ordered in. Each thread has one per device, on which all its
/// kernels and copies run in the order they are issued. The streams of cpu and debug finish every
/// piece of work before it returns, so there is nothing to wait for.
class Stream {
 public:
  /// The stream on which this thread's work for `device` is issued.
  static Stream current(Device device);

  Device device() const { return device_; }
  /// A cudaStream_t for a GPU, null for other devices.
  void* handle() const { return handle_; }
  /// Returns when all work issued to the stream is done.
  void synchronize() const;

 private:
  Stream(Device device, void* handle) : device_(device), handle_(handle) {}

  Device device_;
  void* handle_;
};

}  // namespace weft
