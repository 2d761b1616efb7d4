#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace weft {
namespace {

constexpr index_t huge = std::numeric_limits<index_t>::max();

template <class T>
concept CanAssignElements = requires(T& values) {
  values[0] = index_t{-1};
};

static_assert(CanAssignElements<Index>);
static_assert(!CanAssignElements<Shape> && !CanAssignElements<const Index>);

/// Every point of a shape in row-major order, by counting in mixed radix.
std::vector<Index> points_of(const Shape& shape) {
  std::vector<Index> points;
  for (index_t number = 0; number < shape.count(); ++number) {
    Index at = Index::filled(shape.ndim(), 0);
    index_t rest = number;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    points.push_back(at);
  }
  return points;
}

}  // namespace

TEST(ShapeIndex, holds_up_to_eight_coordinates) {
  EXPECT_EQ(Index().ndim(), 0);
  const Index three = {4, -5, 6};
  EXPECT_EQ(three.ndim(), 3);
  EXPECT_EQ(three[1], -5);
  EXPECT_EQ(std::vector<index_t>(three.begin(), three.end()), (std::vector<index_t>{4, -5, 6}));
  const Index eight = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(eight.ndim(), max_dims);
  EXPECT_EQ(eight[7], 8);
  EXPECT_THROW((Index{1, 2, 3, 4, 5, 6, 7, 8, 9}), ArgumentError);
  EXPECT_THROW(Index(std::vector<index_t>(20)), ArgumentError);
}

TEST(ShapeIndex, is_filled_with_one_value) {
  EXPECT_EQ(Index::filled(3, 7), (Index{7, 7, 7}));
  EXPECT_EQ(Index::filled(0, 7), Index());
  EXPECT_THROW(Index::filled(9, 0), ArgumentError);
  EXPECT_THROW(Index::filled(-1, 0), ArgumentError);
}

TEST(ShapeIndex, differs_by_coordinates_and_by_their_number) {
  EXPECT_EQ((Index{1, 2}), (Index{1, 2}));
  EXPECT_NE((Index{1, 2}), (Index{2, 1}));
  EXPECT_NE((Index{1, 0}), (Index{1}));
  EXPECT_NE(Index(), Index{0});
  Index changed = {1, 2};
  changed[0] = 9;
  EXPECT_EQ(changed, (Index{9, 2}));
}

TEST(ShapeIndex, is_printed_like_a_tuple) {
  EXPECT_EQ(to_string(Index{3, -4}), "(3, -4)");
  EXPECT_EQ(to_string(Index{7}), "(7)");
  EXPECT_EQ(to_string(Index()), "()");
  EXPECT_EQ(to_string(Shape{2, 5}), "(2, 5)");
}

TEST(Shape, counts_elements) {
  EXPECT_EQ(Shape().count(), 1);
  EXPECT_EQ((Shape{7}).count(), 7);
  EXPECT_EQ((Shape{2, 3, 4}).count(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).count(), 0);
  const Shape shape = {2, 3, 4, 5};
  EXPECT_EQ(shape.count(0, 4), 120);
  EXPECT_EQ(shape.count(1, 3), 12);
  EXPECT_EQ(shape.count(2, 2), 1);
  EXPECT_EQ(shape.count(3, 4), 5);
}

TEST(Shape, refuses_negative_extents) {
  EXPECT_THROW((Shape{-1}), ArgumentError);
  EXPECT_THROW((Shape{3, -2, 0}), ArgumentError);
  EXPECT_THROW(Shape(Index{1, -1}), ArgumentError);
}

TEST(Shape, refuses_counts_beyond_64_bits) {
  EXPECT_EQ((Shape{huge}).count(), huge);
  EXPECT_EQ((Shape{index_t{1} << 31, index_t{1} << 31}).count(), index_t{1} << 62);
  EXPECT_THROW((Shape{index_t{1} << 32, index_t{1} << 31}), ArgumentError);
  EXPECT_THROW((Shape{huge, 2}), ArgumentError);
  // Even if a zero extent makes the product zero: strides would overflow.
  EXPECT_THROW((Shape{huge, 2, 0}), ArgumentError);
  EXPECT_THROW((Shape{0, huge, huge}), ArgumentError);
  EXPECT_EQ((Shape{huge, 1, 0}).count(), 0);
}

TEST(Shape, names_the_invalid_values) {
  try {
    const Shape shape = {3, -2};
    FAIL() << to_string(shape);
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("(3, -2)"), std::string::npos) << error.what();
  }
}

TEST(Shape, changes_one_extent) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.with(0, 9), (Shape{9, 3, 4}));
  EXPECT_EQ(shape.with(2, 0), (Shape{2, 3, 0}));
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  EXPECT_THROW(shape.with(1, -1), ArgumentError);
  EXPECT_THROW(shape.with(1, huge), ArgumentError);
  EXPECT_THROW(shape.with(3, 1), ArgumentError);
  EXPECT_THROW(shape.with(-1, 1), ArgumentError);
}

TEST(Shape, removes_one_axis) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(shape.without(0), (Shape{3, 4}));
  EXPECT_EQ(shape.without(1), (Shape{2, 4}));
  EXPECT_EQ(shape.without(2), (Shape{2, 3}));
  EXPECT_EQ((Shape{5}).without(0), Shape());
  EXPECT_THROW(shape.without(3), ArgumentError);
  EXPECT_THROW(shape.without(-1), ArgumentError);
  EXPECT_THROW(Shape().without(0), ArgumentError);
}

TEST(Shape, advances_in_row_major_order) {
  for (const Shape& shape : {Shape{5}, Shape{2, 3}, Shape{3, 1, 4}, Shape{2, 2, 2, 3}, Shape()}) {
    Index at = Index::filled(shape.ndim(), 0);
    index_t number = 0;
    for (const Index& point : points_of(shape)) {
      EXPECT_EQ(at, point);
      EXPECT_EQ(linear(shape, point), number++);
      advance(shape, at);
    }
    EXPECT_EQ(at, Index::filled(shape.ndim(), 0)) << "back at the origin";
  }
}

TEST(Shape, computes_offsets_without_overflow) {
  const Shape shape = {index_t{1} << 31, index_t{1} << 31};
  const index_t last = (index_t{1} << 31) - 1;
  EXPECT_EQ(linear(shape, {last, last}), (index_t{1} << 62) - 1);
}

TEST(ShapeBox, contains_its_points) {
  const Box box = {{2, -1}, {3, 2}};
  EXPECT_EQ(box.end(0), 5);
  EXPECT_EQ(box.end(1), 1);
  int inside = 0;
  for (index_t i = -3; i < 8; ++i) {
    for (index_t j = -3; j < 8; ++j) {
      const bool expected = i >= 2 && i <= 4 && j >= -1 && j <= 0;
      EXPECT_EQ(box.contains({i, j}), expected) << i << " " << j;
      inside += expected ? 1 : 0;
    }
  }
  EXPECT_EQ(inside, 6);
  EXPECT_FALSE((Box{{0}, {0}}).contains({0}));
}

TEST(ShapeBox, intersects_like_sets_of_points) {
  const auto boxes = [] {
    std::vector<Box> all;
    for (index_t i = 0; i < 4; ++i) {
      for (index_t n = 0; n < 4; ++n) {
        all.push_back({{i, 1 - i}, {n, 3}});
      }
    }
    return all;
  }();
  for (const Box& a : boxes) {
    for (const Box& b : boxes) {
      const Box common = intersect(a, b);
      index_t points = 0;
      for (index_t i = -5; i < 12; ++i) {
        for (index_t j = -5; j < 12; ++j) {
          const bool both = a.contains({i, j}) && b.contains({i, j});
          EXPECT_EQ(common.contains({i, j}), both);
          points += both ? 1 : 0;
        }
      }
      EXPECT_EQ(common.shape.count(), points);
    }
  }
  EXPECT_EQ(intersect({{0, 0}, {4, 4}}, {{1, 2}, {9, 1}}), (Box{{1, 2}, {3, 1}}));
}

TEST(ShapeAxis, counts_from_the_end_when_negative) {
  for (int ndim = 1; ndim <= max_dims; ++ndim) {
    for (int axis = 0; axis < ndim; ++axis) {
      EXPECT_EQ(normalize_axis(axis, ndim, "here"), axis);
      EXPECT_EQ(normalize_axis(axis - ndim, ndim, "here"), axis);
    }
    EXPECT_THROW(normalize_axis(ndim, ndim, "here"), ArgumentError);
    EXPECT_THROW(normalize_axis(-ndim - 1, ndim, "here"), ArgumentError);
  }
  EXPECT_THROW(normalize_axis(0, 0, "here"), ArgumentError);
  EXPECT_THROW(normalize_axis(-1, 0, "here"), ArgumentError);
  try {
    normalize_axis(5, 2, "Layout::scatter");
    FAIL();
  } catch (const ArgumentError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("Layout::scatter"), std::string::npos) << text;
    EXPECT_NE(text.find('5'), std::string::npos) << text;
  }
}

}  // namespace weft
