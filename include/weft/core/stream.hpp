#pragma once

#include <weft/core/device.hpp>
#include <weft/core/shape.hpp>

#include <memory>
#include <utility>

namespace weft {

class Event;

/// A queue of work on a device. Each thread has one per device, on which its kernels and copies run
/// in the order they are issued. On cpu and debug, work is complete when the call returns.
class Stream {
 public:
  /// The stream on which this thread's work for `device` is issued.
  static Stream current(Device device);
  /// A further stream, whose work can overlap with that of current(). Lives as long as its copies.
  static Stream make(Device device);

  Device device() const { return device_; }
  /// A cudaStream_t for a GPU, null for other devices.
  void* handle() const { return handle_.get(); }
  /// Work issued from now on begins after the event. The host does not wait.
  void wait(const Event& event) const;
  /// Blocks the host until all work issued to the stream is complete.
  void synchronize() const;

  /// How often threads of this process have waited for a device; counted for debug as for a GPU.
  static index_t host_waits();

 private:
  Stream(Device device, std::shared_ptr<void> handle)
      : device_(device), handle_(std::move(handle)) {}

  Device device_;
  std::shared_ptr<void> handle_;
};

/// A point in the work of a stream that other streams can wait for. An event that was never
/// recorded, or is on a device without streams, has passed.
class Event {
 public:
  /// Marks the work issued to the stream so far; replaces an earlier mark.
  void record(const Stream& stream);
  bool passed() const;
  /// A cudaEvent_t, or null.
  void* handle() const { return handle_.get(); }

 private:
  struct Deleter {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Deleter> handle_;  // created by the first record on a GPU
  Device device_;                          // of the handle
};

/// For its lifetime, this thread's work for a GPU is issued to a stream of the program's own, such
/// as that of an inference engine. Work before, within and after the scope stays in order; if the
/// stream is being captured, the capture has only what is issued within.
class StreamScope {
 public:
  /// `stream` is a cudaStream_t on `device` that outlives the scope.
  StreamScope(Device device, void* stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Device device_;
  std::shared_ptr<void> before_;
  bool joins_ = false;  // the stream with that of the thread
  Event order_;
};

}  // namespace weft
