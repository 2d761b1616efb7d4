#pragma once

#include <memory>

namespace weft::detail {

/// Something to do before every launch of a graph, on the thread that launches it.
class GraphHook {
 public:
  GraphHook() = default;
  GraphHook(const GraphHook&) = delete;
  GraphHook& operator=(const GraphHook&) = delete;
  virtual ~GraphHook() = default;

  virtual void before_launch() = 0;
};

/// Adds the hook, unless it is there, to the graph that this thread is capturing by Graph::capture.
/// Does nothing if there is none.
void add_graph_hook(const std::shared_ptr<GraphHook>& hook);

}  // namespace weft::detail
