#include <weft/core/error.hpp>
#include <weft/core/format.hpp>
#include <weft/core/shape.hpp>

#include <algorithm>

namespace weft {
namespace {

void require_axis(const Shape& shape, int axis, const char* where) {
  if (axis < 0 || axis >= shape.ndim()) [[unlikely]] {
    refuse("{}: there is no axis {} in {}", where, axis, shape);
  }
}

}  // namespace

Index::Index(std::span<const index_t> values) {
  require(values.size() <= max_dims, "Index: {} dimensions given, at most {} are supported",
          values.size(), max_dims);
  std::copy(values.begin(), values.end(), values_.begin());
  ndim_ = static_cast<int>(values.size());
}

Index Index::filled(int ndim, index_t value) {
  std::array<index_t, max_dims> values;
  values.fill(value);
  require(ndim >= 0 && ndim <= max_dims,
          "Index::filled: {} dimensions given, 0 to {} are supported", ndim, max_dims);
  return Index(std::span<const index_t>(values.data(), static_cast<std::size_t>(ndim)));
}

Shape::Shape(const Index& extents) : Index(extents) {
  index_t product = 1;
  bool overflow = false;
  for (const index_t extent : extents) {
    if (extent < 0) [[unlikely]]
      refuse("Shape: negative extent in {}", extents);
    // A zero extent would hide an overflow of the others, which strides would still run into.
    overflow = overflow || __builtin_mul_overflow(product, std::max<index_t>(extent, 1), &product);
  }
  if (overflow) [[unlikely]] {
    refuse("Shape: the number of elements of {} does not fit into 64 bits", extents);
  }
}

index_t Shape::count() const { return count(0, ndim()); }

index_t Shape::count(int first, int last) const {
  require(first >= 0 && last <= ndim(), "Shape::count: there are no axes {} to {} in {} dimensions",
          first, last, ndim());
  index_t product = 1;
  for (int axis = first; axis < last; ++axis) product *= (*this)[axis];
  return product;
}

Shape Shape::with(int axis, index_t extent) const {
  require_axis(*this, axis, "Shape::with");
  Index changed = *this;
  changed[axis] = extent;
  return Shape(changed);
}

Shape Shape::without(int axis) const {
  require_axis(*this, axis, "Shape::without");
  Index shorter = Index::filled(ndim() - 1, 0);
  for (int from = 0, to = 0; from < ndim(); ++from) {
    if (from != axis) shorter[to++] = (*this)[from];
  }
  return Shape(shorter);
}

bool Box::contains(const Index& at) const {
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (at[axis] < offset[axis] || at[axis] >= end(axis)) return false;
  }
  return true;
}

Box intersect(const Box& a, const Box& b) {
  Index offset = a.offset;
  Index extent = a.shape;
  for (int axis = 0; axis < a.shape.ndim(); ++axis) {
    offset[axis] = std::max(a.offset[axis], b.offset[axis]);
    extent[axis] = std::max<index_t>(0, std::min(a.end(axis), b.end(axis)) - offset[axis]);
  }
  return {offset, Shape(extent)};
}

int normalize_axis(int axis, int ndim, const char* where) {
  require(axis >= -ndim && axis < ndim, "{}: axis {} is out of range for {} dimensions", where,
          axis, ndim);
  return axis < 0 ? axis + ndim : axis;
}

std::string to_string(const Index& index) {
  std::string text = "(";
  for (int axis = 0; axis < index.ndim(); ++axis) {
    text += fmt::format("{}{}", axis == 0 ? "" : ", ", index[axis]);
  }
  return text + ")";
}

std::string to_string(const Box& box) {
  return to_string(box.shape) + " at " + to_string(box.offset);
}

}  // namespace weft
