#pragma once

#include <memory>

namespace weft::detail {

/// Something to do before and after every launch of a graph, on the thread that launches it, and
/// when its capture ends.
class GraphHook {
 public:
  GraphHook() = default;
  GraphHook(const GraphHook&) = delete;
  GraphHook& operator=(const GraphHook&) = delete;
  virtual ~GraphHook() = default;

  virtual void before_launch() {}
  virtual void after_launch() {}
  /// At the end of Graph::capture, when the graph is complete.
  virtual void after_capture() {}
};

/// Adds the hook, unless it is there, to the graph that this thread is capturing by Graph::capture.
/// False if there is none.
bool add_graph_hook(const std::shared_ptr<GraphHook>& hook);

}  // namespace weft::detail
