#include <weft/array/array_view.hpp>

#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>

#include "support/allocations.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

using Array = DistributedArray<double>;
using View = ArrayView<double>;
using ConstView = ConstArrayView<double>;

// Inputs may be arrays and views, const or not; outputs may be arrays and views with write access.
template <class X, class Y>
concept CanWrite = requires(X& x, Y& y) {
  copy(x, y);
  axpy(2, x, y);
  axpby(2.0, x, 3, y);
  multiply(x, y);
  conjugate(x, y);
  axpy_dot(1, x, y, x);
  redistribute(x, y);
  y += x;
  y -= x;
  y *= x;
};
template <class Y>
concept CanWriteAlone = requires(Y& y) {
  scale(2, y);
  fill_random(y, 1);
  y *= 2.0;
};
template <class X, class Y>
concept CanCopy = requires(X& x, Y& y) {
  copy(x, y);
};
template <class X, class Y>
concept CanAdd = requires(X& x, Y& y) {
  axpy(2, x, y);
};
template <class Y>
concept CanScale = requires(Y& y) {
  scale(2, y);
};
template <class Y>
concept CanFill = requires(Y& y) {
  y.fill(1.0);
};

template <class X>
constexpr bool is_an_input = CanWrite<X, Array>&& CanWrite<X, View>&& CanWrite<X, const View>;
static_assert(is_an_input<Array> && is_an_input<const Array>);
static_assert(is_an_input<View> && is_an_input<const View>);
static_assert(is_an_input<ConstView> && is_an_input<const ConstView>);
static_assert(CanWriteAlone<Array> && CanWriteAlone<View> && CanWriteAlone<const View>);

template <class Y>
constexpr bool is_an_output = CanCopy<Array, Y> || CanAdd<Array, Y> || CanScale<Y> || CanFill<Y>;
static_assert(is_an_output<Array> && is_an_output<View> && is_an_output<const View>);
static_assert(!is_an_output<const Array>);
static_assert(!is_an_output<ConstView> && !is_an_output<const ConstView>);

// Scalars do not mix.
static_assert(!CanAdd<ArrayView<float>, Array> && !CanAdd<Array, ArrayView<float>>);

// A view of a const array is const, and no view refers to a temporary.
static_assert(std::is_convertible_v<Array&, View>);
static_assert(std::is_convertible_v<const Array&, ConstView>);
static_assert(std::is_convertible_v<View, ConstView>);
static_assert(!std::is_convertible_v<const Array&, View>);
static_assert(!std::is_convertible_v<Array, View>);
static_assert(std::is_convertible_v<Array, ConstView>);  // keeps the array alive
static_assert(!std::is_convertible_v<const Array, ConstView>);
static_assert(std::is_assignable_v<ConstView&, const Array&>);
static_assert(std::is_assignable_v<ConstView&, Array>);
static_assert(!std::is_assignable_v<ConstView&, const Array>);
static_assert(!std::is_convertible_v<ConstView, View>);
// Copies of elements are explicit.
static_assert(!std::is_convertible_v<View, Array> && std::is_constructible_v<Array, View>);

template <class To, class From>
concept CanAssign = requires(To to, const From& from) {
  to.part(0) = from;
};
static_assert(!CanAssign<Array&, Array> && !CanAssign<Array&, View> && !CanAssign<View&, View>);

}  // namespace

TEST(ArrayView, refers_to_memory_of_the_caller) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {5, 6}), [](const Layout& layout) {
      std::vector<double> memory = local_values<double>(layout);
      const ArrayView<double> view(layout, memory.data(), layout.local_count());
      expect_elements(view, local_values<double>(layout));
      view.fill(7.0);
      EXPECT_EQ(memory, std::vector<double>(memory.size(), 7.0));
      for (double& element : memory) element = 8;
      expect_elements(view, memory);
      const std::vector<double>& constant = memory;
      expect_elements(ConstArrayView<double>(layout, constant.data(), layout.local_count()),
                      memory);
    });
  });
}

TEST(ArrayView, copies_refer_to_the_same_memory) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {5, 6});
    auto x = make_array<float>(layout);
    const ArrayView<float> view = x;
    ArrayView<float> other = view;
    EXPECT_EQ(other.data(), x.data());
    auto y = make_array<float>(layout, 1);
    other = y;
    EXPECT_EQ(other.data(), y.data());
    expect_elements(x, local_values<float>(layout));
    ConstArrayView<float> constant = x;
    constant = other;
    EXPECT_EQ(constant.data(), y.data());
  });
}

TEST(ArrayView, elements_are_copied_into_views_and_parts_of_stacks) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {7, 3});
    Array stack(Layout::stack({rows, Layout::replicated(comm, {4})}));
    Array y(rows);
    y.fill(3.0);
    const double* memory = stack.data();
    copy(2.0 * y, stack.part(0));
    copy(stack.part(0) + y, stack.part(0));
    EXPECT_EQ(stack.data(), memory);
    EXPECT_EQ(stack.part(0).data(), memory);
    for (index_t i = 0; i < y.local_count(); ++i) EXPECT_EQ(stack.data()[i], 9.0);
    EXPECT_THROW(copy(2.0 * y, stack.part(1)), ArgumentError);

    std::vector<double> values(static_cast<std::size_t>(rows.local_count()), 1.0);
    const ArrayView view(rows, values.data(), rows.local_count());
    copy(view + y, view);
    EXPECT_EQ(values, std::vector<double>(values.size(), 4.0));
    // Elements of another layout do not fit, and nothing is written.
    const auto larger = make_array<double>(Layout::replicated(comm, {9, 9}));
    EXPECT_THROW(copy(larger, view), ArgumentError);
    EXPECT_EQ(values, std::vector<double>(values.size(), 4.0));
  });
}

TEST(ArrayView, arithmetic_takes_arrays_and_views) {
  on_ranks([](Comm comm) {
    for_all_layouts(comm, {6, 5}, [](const Layout& layout) {
      const auto x = make_array<double>(layout, 1);
      auto y = make_array<double>(layout, 2);
      const View view = y;
      const ConstView constant = x;
      const Array expected = x + y;
      const auto same = [&](const ConstView& sum) { EXPECT_EQ(sum.to_host(), expected.to_host()); };
      same(constant + view);
      same(x + view);
      axpy(1, constant, view);
      same(y);
      view -= x;
      y += constant;
      same(view);
      EXPECT_EQ(norm(view), norm(expected));
      EXPECT_EQ(dot(constant, view), dot(x, expected));
      EXPECT_EQ(sum(view), sum(expected));
      same(constant.copy() + (-1.0 * constant + view));
    });
  });
}

TEST(ArrayView, parts_allocate_nothing) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {7, 3});
    const Layout four = Layout::replicated(comm, {4});
    Array x(Layout::stack({Layout::stack({rows, four}), four, rows}));
    const Array& constant = x;
    const double* after = x.data() + rows.local_count() + 8;
    EXPECT_EQ(x.part(2).data(), after);
    EXPECT_EQ(constant.part(2).data(), after);
    EXPECT_EQ(x.part(0).part(1).data(), x.data() + rows.local_count());
    EXPECT_EQ(x.part(1).layout(), four);
    expect_no_allocation(comm, [&] {
      copy(constant.part(1), x.part(0).part(1));
      axpy(2, constant.part(2), x.part(0).part(0));
    });
  });
}

TEST(ArrayView, keeps_memory_alive) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {7, 3});
    const Layout stack = Layout::stack({rows, rows});
    const auto count = static_cast<std::size_t>(stack.local_count());
    auto memory = std::make_shared<std::vector<double>>(count, 5.0);
    const std::weak_ptr<std::vector<double>> watch = memory;
    {
      std::vector<ConstView> views;
      {
        const View view(stack, memory->data(), stack.local_count(), memory);
        memory.reset();
        views.push_back(view.part(1));
      }
      EXPECT_FALSE(watch.expired());
      EXPECT_EQ(views[0].to_host(), std::vector<double>(count / 2, 5.0));
    }
    EXPECT_TRUE(watch.expired());
  });
}

TEST(ArrayView, keeps_a_temporary_array) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {7, 3});
    const auto x = make_array<double>(layout);
    ConstView view = 2.0 * x;
    expect_elements(view, (x + x).to_host());
    view = 3.0 * x;
    expect_elements(view, (x + x + x).to_host());
  });
}

TEST(ArrayView, part_of_a_temporary_array_keeps_it) {
  on_ranks([](Comm comm) {
    const Layout rows = Layout::scatter(comm, {7, 3});
    const Layout stack = Layout::stack({rows, rows});
    const auto count = static_cast<std::size_t>(rows.local_count());
    const auto filled = [&](double value) {
      Array array(stack);
      array.fill(value);
      return array;
    };
    const View part = filled(5).part(1);
    const ConstView constant = filled(6).part(0);
    const Array other = filled(7);  // would reuse the memory
    EXPECT_EQ(part.to_host(), std::vector<double>(count, 5.0));
    EXPECT_EQ(constant.to_host(), std::vector<double>(count, 6.0));
    part.fill(8.0);
    EXPECT_EQ(part.to_host(), std::vector<double>(count, 8.0));
    EXPECT_EQ(other.part(1).to_host(), std::vector<double>(count, 7.0));
  });
}

TEST(LocalView, addresses_elements_by_strides) {
  std::vector<float> memory(2 * 3 * 8);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const LocalView<float> whole(memory.data(), {2, 3, 8});
  EXPECT_EQ(whole.ndim(), 3);
  EXPECT_EQ(whole.extent(1), 3);
  EXPECT_EQ(whole.strides(), (Index{24, 8, 1}));
  EXPECT_EQ(&whole(1, 2, 3), memory.data() + 24 + 16 + 3);
  EXPECT_EQ(&whole[Index({1, 2, 3})], &whole(1, 2, 3));
  const LocalView<const float> part(&whole(0, 1, 2), {2, 2, 4}, whole.strides());
  EXPECT_EQ(part.stride(0), 24);
  EXPECT_EQ(&part(1, 1, 3), &whole(1, 2, 5));
  EXPECT_EQ(&LocalView<float>(memory.data(), Shape())(), memory.data());
}

}  // namespace weft::test
