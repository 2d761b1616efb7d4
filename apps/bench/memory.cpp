#include "bench/memory.hpp"

#include <algorithm>

namespace weft::bench {
namespace {

constexpr std::byte guard_value{0xa5};

index_t bytes_needed(const Plan& plan, DType dtype, Form form) {
  index_t count = count_of(plan.out);
  if (form == Form::in_place) {
    count = std::max(plan.out_offset + count, plan.in_offset + count_of(plan.in));
  }
  return count * size_of(dtype);
}

}  // namespace

Guarded::Guarded(index_t bytes, Device device, index_t misalign)
    : front_(guard_bytes + misalign), buffer_(front_ + bytes + guard_bytes, device) {}

void Guarded::write(std::span<const std::byte> contents) {
  std::vector<std::byte> all(static_cast<std::size_t>(buffer_.size()), guard_value);
  std::copy(contents.begin(), contents.end(), all.begin() + front_);
  copy_bytes(buffer_.data(), buffer_.device(), all.data(), Device::cpu(), all.size());
}

std::vector<std::byte> Guarded::copy_of(index_t first, index_t bytes) const {
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  copy_bytes(copy.data(), Device::cpu(), buffer_.data() + first, buffer_.device(), copy.size());
  return copy;
}

std::vector<std::byte> Guarded::read() const { return copy_of(front_, bytes()); }

index_t Guarded::damage(index_t element_bytes) const {
  const auto changed = [&](index_t first, index_t count) {
    const std::vector<std::byte> intact(static_cast<std::size_t>(count), guard_value);
    return count_different(copy_of(first, count), intact, element_bytes);
  };
  return changed(0, front_) + changed(front_ + bytes(), guard_bytes);
}

CallMemory::CallMemory(const Plan& plan, const Data& data, Form form, Device device,
                       index_t misalign)
    : form_(form),
      dtype_(data.dtype()),
      device_(device),
      in_first_(form == Form::in_place ? plan.in_offset : 0),
      in_count_(count_of(plan.in)),
      out_first_(form == Form::in_place ? plan.out_offset : 0),
      out_count_(count_of(plan.out)),
      input_(data.make(plan.in)),
      expected_(data.make(plan.out)),
      memory_(bytes_needed(plan, dtype_, form), device, misalign),
      separate_input_(form == Form::in_place ? 0 : in_count_ * size_of(dtype_), device, misalign) {
  prepare();
}

BufferRef CallMemory::memory(Guarded& guarded, index_t first, index_t count) {
  return {guarded.data() + first * size_of(dtype_), count, dtype_, device_};
}

void CallMemory::prepare() {
  std::vector<std::byte> contents(static_cast<std::size_t>(memory_.bytes()));
  std::transform(expected_.begin(), expected_.end(),
                 contents.begin() + out_first_ * size_of(dtype_), [](std::byte b) { return ~b; });
  if (form_ == Form::in_place) {
    std::copy(input_.begin(), input_.end(), contents.begin() + in_first_ * size_of(dtype_));
  } else {
    separate_input_.write(input_);
  }
  memory_.write(contents);
}

index_t CallMemory::count_wrong() {
  const index_t element = size_of(dtype_);
  const std::vector<std::byte> seen = memory_.read();
  const auto output =
      std::span(seen).subspan(static_cast<std::size_t>(out_first_ * element), expected_.size());
  index_t wrong = count_different(output, expected_, element) + memory_.damage(element);
  if (form_ == Form::out_of_place) {
    wrong += count_different(separate_input_.read(), input_, element);
    wrong += separate_input_.damage(element);
  }
  return wrong;
}

}  // namespace weft::bench
