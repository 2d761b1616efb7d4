#pragma once

#include <weft/comm/buffer_ref.hpp>

#include "comm/cuda/fast_allreduce.cuh"

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Memory of this rank, and its number. `id` is that of the allocation; 0 if it cannot be freed.
struct KnownMemory {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint32_t number = 0;
  std::uint64_t id = 0;

  bool contains(ConstBufferRef memory) const {
    const auto* first = static_cast<const std::byte*>(memory.data);
    const auto length = static_cast<std::size_t>(memory.bytes());
    return begin <= first && length <= bytes &&
           static_cast<std::size_t>(first - begin) <= bytes - length;
  }
  std::uint64_t place(ConstBufferRef memory) const {
    const auto offset = static_cast<const std::byte*>(memory.data) - begin;
    return fast::place_of(number, static_cast<std::uint64_t>(offset));
  }
};

}  // namespace weft::detail
