#pragma once

#include <weft/core/buffer.hpp>

#include "bench/cases.hpp"

#include <span>
#include <vector>

namespace weft::bench {

/// Device memory between two guards that detect writes beyond its ends.
class Guarded {
 public:
  static constexpr index_t guard_bytes = 256;

  /// Begins `misalign` bytes after an aligned address.
  Guarded(index_t bytes, Device device, index_t misalign = 0);

  std::byte* data() { return buffer_.data() + front_; }
  index_t bytes() const { return buffer_.size() - front_ - guard_bytes; }
  /// Sets the contents and the guards.
  void write(std::span<const std::byte> contents);
  std::vector<std::byte> read() const;
  /// The number of overwritten guard elements.
  index_t damage(index_t element_bytes) const;

 private:
  std::vector<std::byte> copy_of(index_t first, index_t bytes) const;

  index_t front_;  // bytes of the guard before the data
  Buffer<std::byte> buffer_;
};

/// The buffers of one rank in one call, and their expected contents.
class CallMemory {
 public:
  CallMemory(const Plan& plan, const Data& data, Form form, Device device, index_t misalign = 0);

  BufferRef in() { return memory(input_memory(), in_first_, in_count_); }
  BufferRef out() { return memory(memory_, out_first_, out_count_); }
  /// Sets the input, and fills the rest of the output with wrong values.
  void prepare();
  /// Counts wrong elements of the output, changed elements of a separate input, and overwritten
  /// guard elements.
  index_t count_wrong();

 private:
  Guarded& input_memory() { return form_ == Form::in_place ? memory_ : separate_input_; }
  BufferRef memory(Guarded& guarded, index_t first, index_t count);

  Form form_;
  DType dtype_;
  Device device_;
  index_t in_first_;
  index_t in_count_;
  index_t out_first_;
  index_t out_count_;
  std::vector<std::byte> input_;
  std::vector<std::byte> expected_;
  Guarded memory_;
  Guarded separate_input_;
};

}  // namespace weft::bench
