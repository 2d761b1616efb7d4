#pragma once

#include "comm/transport.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace weft::detail {

/// Memory that processes of one host share. It has no name in any file system, so nothing remains
/// of it when they end, in whatever way. Each process holds a lock that the kernel releases at its
/// end, which is how the others notice.
class SharedSegment {
 public:
  /// The segment, or the reason why there is none.
  struct Result {
    std::unique_ptr<SharedSegment> segment;
    std::string error;
  };
  /// Collective over `transport`. `members` lists the ranks on the host of this one, in order. The
  /// memory is zero, and every process has seen what every other has written to it. If one segment
  /// cannot be made, no rank gets one, and all get the same error.
  static Result make(Transport& transport, const std::vector<int>& members, std::size_t bytes);

  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* data() const { return data_; }
  /// The process at this position of `members` has ended.
  bool has_ended(int position) const;

 private:
  SharedSegment(int file, std::byte* data, std::size_t mapped_bytes)
      : file_(file), data_(data), mapped_bytes_(mapped_bytes) {}

  int file_;
  std::byte* data_;
  std::size_t mapped_bytes_;
};

}  // namespace weft::detail
