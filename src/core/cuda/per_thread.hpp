#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace weft::detail {

/// Holds one Resource of its thread for each GPU; make it thread_local. Resources of ended threads
/// are used by new ones. They are never freed: at the end of the process the driver may be gone.
template <class Resource>
class PerThread {
 public:
  PerThread() = default;
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;
  ~PerThread() {
    const std::lock_guard lock(unused().mutex);
    unused().resources.merge(mine_);
  }

  /// Null before the first get().
  Resource* find(int gpu) {
    const auto found = mine_.find(gpu);
    return found == mine_.end() ? nullptr : &found->second;
  }
  template <class Make>
  Resource& get(int gpu, Make make) {
    if (Resource* const found = find(gpu)) return *found;
    {
      const std::lock_guard lock(unused().mutex);
      if (auto left = unused().resources.extract(gpu)) {
        return mine_.insert(std::move(left))->second;
      }
    }
    return mine_.emplace(gpu, make())->second;
  }

 private:
  struct Unused {
    std::mutex mutex;
    std::multimap<int, Resource> resources;
  };
  static Unused& unused() {
    static auto& instance = *new Unused;
    return instance;
  }

  std::multimap<int, Resource> mine_;  // one per GPU
};

}  // namespace weft::detail
