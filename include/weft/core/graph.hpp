#pragma once

#include <weft/core/device.hpp>

#include <functional>
#include <memory>

namespace weft {

/// A piece of work that is issued often. On a GPU it is recorded once and then launched as a whole,
/// which costs the host a fraction of what issuing its kernels costs. Elsewhere it is simply done
/// again.
class Graph {
 public:
  /// Records what `work` issues to this thread's stream, without doing it. It must not wait for the
  /// device, allocate memory on it or copy from the host; of calls to other ranks, those on the
  /// routes "self" and "nccl" can be recorded. What it refers to must outlive the graph.
  static Graph capture(Device device, std::function<void()> work);

  /// Issues the work to this thread's stream.
  void launch() const;

 private:
  Device device_;
  std::function<void()> work_;      // on a GPU, only keeps alive what it has captured
  std::shared_ptr<void> recorded_;  // a cudaGraphExec_t
};

}  // namespace weft
