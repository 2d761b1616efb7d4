#include "array/layouts.hpp"

#include <weft/array/roll.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::test {
namespace {

/// This rank's elements of the rolled array, from its definition.
template <Scalar T>
std::vector<T> rolled_values(const Layout& layout, index_t shift, int axis) {
  std::vector<T> values;
  const index_t n = layout.shape()[axis];
  for_each_point(layout.box(), [&](const Index& at) {
    Index source = at;
    source[axis] = ((at[axis] - shift) % n + n) % n;
    values.push_back(value<T>(position_of(layout.shape(), source)));
  });
  return values;
}

}  // namespace

TEST(Roll, matches_its_definition) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{1}, Shape{17}, Shape{1, 7}, Shape{5, 3, 4}, Shape{4, 0, 3}}) {
      for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
        const bool debug = !layout.device().host_accessible();
        for (int axis = 0; axis < shape.ndim(); ++axis) {
          for (const index_t shift :
               debug ? std::vector<index_t>{2} : std::vector<index_t>{0, 1, -1, 3, -12, 100}) {
            SCOPED_TRACE(fmt::format("{} by {} along axis {}", to_string(shape), shift, axis));
            expect_elements(roll(make_array<double>(layout), shift, axis),
                            rolled_values<double>(layout, shift, axis));
          }
        }
      });
    }
  });
}

TEST(Roll, works_in_all_types) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {7, 2});
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      expect_elements(roll(make_array<T>(layout), 3, -2), rolled_values<T>(layout, 3, 0));
    });
  });
}

TEST(Roll, exchanges_at_most_once) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout rows = Layout::scatter(comm, {2 * comm.size(), 6});
    const auto x = make_array<float>(rows);
    const auto calls = [&](const ConstArrayView<float>& array, index_t shift, int axis) {
      comm.reset_stats();
      roll(array, shift, axis);
      return comm.stats().total().calls;
    };
    EXPECT_EQ(calls(x, 1, 0), comm.size() > 1 ? 1 : 0);
    EXPECT_EQ(calls(x, 5, 1), 0);
    EXPECT_EQ(calls(x, 2 * comm.size(), 0), 0);
    EXPECT_EQ(calls(make_array<float>(Layout::replicated(comm, {4, 3})), 1, 0), 0);
  });
}

TEST(Roll, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto x = make_array<double>(Layout::scatter(comm, {4, 3}));
    EXPECT_THROW(roll(x, 1, 2), ArgumentError);
    EXPECT_THROW(roll(make_array<double>(Layout::stack({x.layout()})), 1, 0), ArgumentError);
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

}  // namespace weft::test
