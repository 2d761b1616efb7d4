#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// The cores on which processes may run. Plain numbers, since it is sent as bytes.
class CoreSet {
 public:
  /// Those of this process. Empty if the machine has more cores than the set can hold.
  static CoreSet of_process();

  void add(const CoreSet& other) {
    for (std::size_t word = 0; word < words_.size(); ++word) words_[word] |= other.words_[word];
  }
  void add(int core) {
    words_[static_cast<std::size_t>(core) / bits] |= std::uint64_t{1} << (core % bits);
  }
  int count() const;
  /// So many ranks that run on these cores have to take turns.
  bool fewer_than(int ranks) const { return count() > 0 && count() < ranks; }

 private:
  static constexpr int bits = 64;
  std::array<std::uint64_t, 16> words_ = {};
};

}  // namespace weft::detail
