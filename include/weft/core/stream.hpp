#pragma once

#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#include <memory>
#include <utility>

namespace weft {

class Event;

/// The queue that work on a device is ordered in. Each thread has one per device, on which all its
/// kernels and copies run in the order they are issued. The streams of cpu and debug finish every
/// piece of work before it returns, so there is nothing to wait for.
class Stream {
 public:
  /// The stream on which this thread's work for `device` is issued.
  static Stream current(Device device);
  /// One more, for work beside that of current(). Lives as long as its copies.
  static Stream make(Device device);

  Device device() const { return device_; }
  /// A cudaStream_t for a GPU, null for other devices.
  void* handle() const { return handle_.get(); }
  /// What is issued from now on begins after the event. Does not wait for it here.
  void wait(const Event& event) const;
  /// Returns when all work issued to the stream is done.
  void synchronize() const;

  /// How often threads of this process have waited for a device, or would have, if debug were one.
  static index_t host_waits();

 private:
  Stream(Device device, std::shared_ptr<void> handle)
      : device_(device), handle_(std::move(handle)) {}

  Device device_;
  std::shared_ptr<void> handle_;
};

/// A point in a stream's work, for other streams to wait for. One that was never recorded, or on a
/// device without streams, has always passed.
class Event {
 public:
  /// Marks the work issued to the stream so far, in place of what was marked before.
  void record(const Stream& stream);
  bool passed() const;
  /// A cudaEvent_t, or null.
  void* handle() const { return handle_.get(); }

 private:
  struct Deleter {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Deleter> handle_;  // made by the first record on a GPU
  Device device_;                          // which it belongs to
};

}  // namespace weft
