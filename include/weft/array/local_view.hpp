#pragma once

#include <weft/core/shape.hpp>

#include <concepts>

namespace weft {

/// An N-D grid in memory that it does not own. The last axis is contiguous; the other axes
/// have strides, in elements. Element access compiles to the same code as pointer arithmetic.
template <class T>
class LocalView {
 public:
  /// In row-major order without gaps.
  LocalView(T* data, const Shape& shape) : data_(data), shape_(shape) {
    index_t stride = 1;
    strides_ = shape;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      strides_[axis] = stride;
      stride *= shape[axis];
    }
  }
  /// Part of a larger grid. The last stride must be 1.
  LocalView(T* data, const Shape& shape, const Index& strides)
      : data_(data), shape_(shape), strides_(strides) {}

  T* data() const { return data_; }
  int ndim() const { return shape_.ndim(); }
  const Shape& shape() const { return shape_; }
  const Index& strides() const { return strides_; }
  index_t extent(int axis) const { return shape_[axis]; }
  index_t stride(int axis) const { return strides_[axis]; }

  /// One index per axis; neither their number nor their range is checked.
  template <std::integral... Indices>
  T& operator()(Indices... indices) const {
    return data_[offset_of<0>(static_cast<index_t>(indices)...)];
  }
  T& operator[](const Index& at) const {
    index_t offset = 0;
    for (int axis = 0; axis < shape_.ndim(); ++axis) offset += at[axis] * strides_[axis];
    return data_[offset];
  }

 private:
  template <int axis>
  static constexpr index_t offset_of() {
    return 0;
  }
  // The last stride is known to be 1, so that the compiler can vectorize loops along that axis.
  template <int axis>
  static constexpr index_t offset_of(index_t last) {
    return last;
  }
  template <int axis, std::same_as<index_t>... Rest>
  constexpr index_t offset_of(index_t i, index_t j, Rest... rest) const {
    return i * strides_[axis] + offset_of<axis + 1>(j, rest...);
  }

  T* data_;
  Shape shape_;
  Index strides_;
};

}  // namespace weft
