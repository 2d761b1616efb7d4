#pragma once

#include <weft/core/device.hpp>

namespace weft {

/// The queue that work on a device is ordered in. The streams of cpu and debug finish every piece
/// of work before it returns, so there is nothing to wait for.
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {}

  /// The stream on which this thread's work for `device` is issued.
  static Stream current(Device device) { return Stream(device); }

  Device device() const { return device_; }
  /// Returns when all work issued to the stream is done.
  void synchronize() const {}

 private:
  Device device_;
};

}  // namespace weft
