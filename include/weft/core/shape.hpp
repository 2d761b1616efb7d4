#pragma once

#include <weft/core/compiler.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace weft {

using index_t = std::int64_t;

inline constexpr int max_dims = 8;

/// Up to eight 64-bit coordinates, stored inline: a point of an array, or one number per axis.
class Index {
 public:
  constexpr Index() = default;
  Index(std::initializer_list<index_t> values) : Index(std::span(values.begin(), values.size())) {}
  explicit Index(std::span<const index_t> values);

  static Index filled(int ndim, index_t value);

  constexpr int ndim() const { return ndim_; }
  constexpr index_t operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  constexpr index_t& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  constexpr const index_t* begin() const { return values_.data(); }
  constexpr const index_t* end() const { return values_.data() + ndim_; }

  // Coordinates beyond ndim are zero, so that whole arrays can be compared.
  friend constexpr bool operator==(const Index&, const Index&) = default;

 private:
  std::array<index_t, max_dims> values_{};
  int ndim_ = 0;
};

/// The extents of an array: non-negative, with a product that fits into 64 bits.
class Shape : public Index {
 public:
  Shape() = default;
  Shape(std::initializer_list<index_t> extents) : Shape(Index(extents)) {}
  explicit Shape(const Index& extents);

  /// Read access only: with() checks the extents that it changes.
  constexpr index_t operator[](int axis) const { return Index::operator[](axis); }
  /// Number of elements; 1 for the empty shape, that of a scalar.
  index_t count() const;
  /// Product of the extents of axes [first, last).
  index_t count(int first, int last) const;
  /// The same shape with another extent along one axis.
  Shape with(int axis, index_t extent) const;
  /// The shape without one axis.
  Shape without(int axis) const;
};

/// Row-major offset of a point in an array of this shape.
inline index_t linear(const Shape& shape, const Index& at) {
  index_t offset = 0;
  for (int axis = 0; axis < shape.ndim(); ++axis) offset = offset * shape[axis] + at[axis];
  return offset;
}

/// Advances `at` to the next point in row-major order; wraps to the origin after the last one.
inline void advance(const Shape& shape, Index& at) {
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    if (++at[axis] < shape[axis]) return;
    at[axis] = 0;
  }
}

/// A rectangular region of a global array.
struct Box {
  Index offset;
  Shape shape;

  index_t end(int axis) const { return offset[axis] + shape[axis]; }
  bool contains(const Index& at) const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// The intersection of two boxes; its count is zero if they are disjoint.
Box intersect(const Box& a, const Box& b);

/// Negative axes count from the end, as in NumPy. Throws ArgumentError when out of range.
int normalize_axis(int axis, int ndim, const char* where);

/// "(3, 4)"
std::string to_string(const Index& index);
/// "(2, 3) at (0, 5)"
std::string to_string(const Box& box);

}  // namespace weft
