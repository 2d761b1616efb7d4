#pragma once

#include <weft/core/buffer.hpp>

#include "bench/cases.hpp"

#include <span>
#include <vector>

namespace weft::bench {

/// Memory on a device between two guards, which tell of writes beyond its ends.
class Guarded {
 public:
  static constexpr index_t guard_bytes = 256;

  Guarded(index_t bytes, Device device);

  std::byte* data() { return buffer_.data() + guard_bytes; }
  index_t bytes() const { return buffer_.size() - 2 * guard_bytes; }
  /// Sets the contents, and the guards.
  void write(std::span<const std::byte> contents);
  std::vector<std::byte> read() const;
  /// How many elements of the guards were written to.
  index_t damage(index_t element_bytes) const;

 private:
  std::vector<std::byte> copy_of(index_t first, index_t bytes) const;

  Buffer<std::byte> buffer_;
};

/// What one rank sends and receives in one call: the memory, and what must be in it afterwards.
class CallMemory {
 public:
  CallMemory(const Plan& plan, const Data& data, Form form, Device device);

  BufferRef in() { return memory(input_memory(), in_first_, in_count_); }
  BufferRef out() { return memory(memory_, out_first_, out_count_); }
  /// Puts the input in, and into the rest of the output what cannot be right.
  void prepare();
  /// Counts elements that are not what they must be, in the output and in an input that is apart
  /// from it, and elements of their guards.
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
