#pragma once

// The geometry of windows: which windows a rank has, and which elements it exchanges for them.

#include <weft/array/layout.hpp>

#include <vector>

namespace weft::detail {

struct WindowsAlong {
  int axis = 0;  // of the data
  index_t window = 1;
  index_t overlap = 0;
  index_t total = 1;  // windows

  index_t step() const { return window - overlap; }
};

/// Positions [begin, end) along the distributed axis, or windows.
struct Interval {
  index_t begin = 0;
  index_t end = 0;

  index_t length() const { return end - begin; }
};

/// Elements that this rank exchanges with another: all positions in an interval.
struct WindowSlab {
  int peer = 0;
  Interval positions;
};

class WindowPlan {
 public:
  /// `windows` cover the data; `model` is the shape of the model of one window. Throws if the data
  /// is distributed along another axis, or several.
  WindowPlan(Layout data, std::vector<WindowsAlong> windows, const Shape& model, const char* who);

  const Layout& data() const { return data_; }
  const Layout& domain() const { return domain_; }
  const std::vector<WindowsAlong>& windows() const { return windows_; }
  /// The entry of windows() along whose axis the data is distributed, or -1.
  int distributed() const { return distributed_; }
  /// This rank's windows along an entry of windows().
  Interval mine(int entry) const;
  /// Elements of this rank's windows that other ranks have, by rank.
  const std::vector<WindowSlab>& ghost_slabs() const { return ghost_slabs_; }
  /// This rank's elements in windows of other ranks, by rank.
  const std::vector<WindowSlab>& shared_slabs() const { return shared_slabs_; }

 private:
  int find_distributed(const char* who) const;
  Layout find_domain(const Shape& model) const;
  void find_slabs();
  /// The positions that a rank has, its windows, and the positions that these cover.
  Interval part(int rank) const;
  Interval windows_of(int rank) const;
  Interval covered(int rank) const;
  const WindowsAlong& along() const { return windows_[static_cast<std::size_t>(distributed_)]; }

  Layout data_;
  std::vector<WindowsAlong> windows_;
  int distributed_;
  Layout domain_;
  std::vector<WindowSlab> ghost_slabs_;
  std::vector<WindowSlab> shared_slabs_;
};

}  // namespace weft::detail
