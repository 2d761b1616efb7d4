#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::detail {

/// Storage of a queue whose elements are numbered from 0. It doubles when it is full, so that a
/// queue of bounded length stops allocating.
template <class T>
class Ring {
 public:
  /// Appends element number `end` to a queue that holds the elements from `first` on.
  void push(std::uint64_t first, std::uint64_t end, const T& value) {
    if (end - first == elements_.size()) {
      std::vector<T> larger(2 * elements_.size());
      for (std::uint64_t i = first; i < end; ++i) larger[i % larger.size()] = (*this)[i];
      elements_ = std::move(larger);
    }
    elements_[end % elements_.size()] = value;
  }
  const T& operator[](std::uint64_t number) const { return elements_[number % elements_.size()]; }

 private:
  std::vector<T> elements_ = std::vector<T>(4);
};

}  // namespace weft::detail
