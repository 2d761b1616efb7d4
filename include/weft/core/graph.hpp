#pragma once

#include <weft/core/device.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace weft {
namespace detail {
class GraphHook;
}

/// Work that is issued repeatedly. On a GPU it is captured once and launched as a CUDA graph, which
/// costs the host a fraction of issuing its kernels. Other devices run it again.
class Graph {
 public:
  /// Captures what `work` issues to this thread's stream, without running it. `work` must not wait
  /// for the device, allocate memory on it or copy from the host; communication can be captured on
  /// routes that are capturable (Comm::route), and all ranks must then launch their graphs in the
  /// same order. If processes have captured allreduces of more than 512 KiB on the route "fast",
  /// the end of the capture is collective, and throws an AgreedError if the ranks have captured
  /// different ones. Everything it refers to must outlive the graph.
  static Graph capture(Device device, std::function<void()> work);

  /// Issues the work to this thread's stream. If threads have captured calls on the route "fast",
  /// it waits, on the host, until all their ranks have launched.
  void launch() const;

 private:
  Device device_;
  std::function<void()> work_;      // on a GPU, only keeps its captures alive
  std::shared_ptr<void> recorded_;  // a cudaGraphExec_t
  std::vector<std::shared_ptr<detail::GraphHook>> hooks_;
};

}  // namespace weft
