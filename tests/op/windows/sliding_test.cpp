#include <weft/op/windows/sliding.hpp>

#include "op/support/check_operator.hpp"
#include "support/allocations.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/matrix/matrix_mult.hpp>

#include <cmath>
#include <numbers>

namespace weft::test {
namespace {

constexpr int seed = 3;

/// A case: windows along axes of an array.
struct Case {
  Shape data;
  std::vector<int> axes;
  WindowOptions options;
  Shape model = Shape{2};  // of one window

  std::size_t count() const { return axes.size(); }
  index_t window(std::size_t i) const { return options.window[options.window.size() == 1 ? 0 : i]; }
  index_t overlap(std::size_t i) const {
    return options.overlap[options.overlap.size() == 1 ? 0 : i];
  }
  index_t step(std::size_t i) const { return window(i) - overlap(i); }
  index_t total(std::size_t i) const { return (data[axes[i]] - overlap(i)) / step(i); }
  Shape window_shape() const {
    Shape shape = data;
    for (std::size_t i = 0; i < count(); ++i) shape = shape.with(axes[i], window(i));
    return shape;
  }
  Shape windows() const {
    std::vector<index_t> extents;
    for (std::size_t i = 0; i < count(); ++i) extents.push_back(total(i));
    return Shape(Index(extents));
  }

  /// The weight of element k of a window along an axis.
  double weight(std::size_t i, index_t number, index_t k) const {
    const index_t n = overlap(i);
    if (options.taper == Taper::none || n < 2) return 1;
    const bool rises = k < n && number > 0;
    const bool falls = k >= step(i) && number + 1 < total(i);
    if (!rises && !falls) return 1;
    const index_t from_end = rises ? k : window(i) - 1 - k;
    const double ramp = (1 - std::cos(std::numbers::pi * double(from_end) / double(n - 1))) / 2;
    return options.taper == Taper::cosine_square ? ramp * ramp : ramp;
  }

  template <class D, class R>
  Expected<D, R> expected() const {
    const index_t columns = model.count();
    const auto a = some_matrix<D, R>(window_shape().count(), columns, seed);
    const Shape numbers = windows();
    const auto entry = [=, *this](const std::vector<R>& of, index_t row, index_t column) -> R {
      const Index number = point_at(numbers, column / columns);
      Index at = point_at(data, row);
      double factor = options.scalings.empty()
                          ? 1
                          : options.scalings[static_cast<std::size_t>(column / columns)];
      for (std::size_t i = 0; i < count(); ++i) {
        const index_t k = at[axes[i]] - number[static_cast<int>(i)] * step(i);
        if (k < 0 || k >= window(i)) return R{};
        factor *= weight(i, number[static_cast<int>(i)], k);
        at[axes[i]] = k;
      }
      const index_t position = position_of(window_shape(), at) * columns + column % columns;
      return static_cast<Real<R>>(factor) * of[static_cast<std::size_t>(position)];
    };
    return {data.count(), numbers.count() * columns,
            [=](index_t row, index_t column) { return entry(a.on_real, row, column); },
            [=](index_t row, index_t column) { return entry(a.on_imag, row, column); }};
  }
  template <class D, class R>
  LinearOperator<D, R> of_window(Device device) const {
    return some_operator<D, R>(Layout::local(model).on(device),
                               Layout::local(window_shape()).on(device), seed);
  }
  template <class D, class R = D>
  LinearOperator<D, R> make(const Layout& layout) const {
    return sliding(layout, of_window<D, R>(layout.device()), axes, options);
  }
  /// The array is distributed along one of the axes with windows, or not at all.
  bool accepts(const Layout& layout) const {
    int cut = 0;
    bool has_windows = true;
    for (int axis = 0; axis < layout.ndim(); ++axis) {
      if (!layout.is_cut_anywhere(axis)) continue;
      ++cut;
      has_windows = std::find(axes.begin(), axes.end(), axis) != axes.end();
    }
    return cut <= 1 && has_windows;
  }
};

template <class T>
double tolerance_of(const Case& which) {
  if (which.options.taper == Taper::none) return 0;
  return std::same_as<Real<T>, float> ? 1e-5 : 1e-13;
}

const Case along_first{{14, 3}, {0}, {.window = {5}, .overlap = {2}}};
const Case along_last{
    {3, 12}, {1}, {.window = {6}, .overlap = {3}, .taper = Taper::cosine_square}, Shape{}};
const Case both{{14, 7}, {0, 1}, {.window = {5, 3}, .overlap = {2, 1}}};

std::vector<Case> exact_cases() {
  constexpr Taper none = Taper::none;
  return {
      // no overlap; much overlap; one window; axes of length 1; many axes
      {{12}, {0}, {.window = {3}, .taper = none}},
      {{14, 2}, {0}, {.window = {6}, .overlap = {4}, .taper = none}, {2, 1}},
      {{2, 14}, {1}, {.window = {6}, .overlap = {5}, .taper = none}, Shape{}},
      {{5, 4}, {0, 1}, {.window = {5, 4}, .overlap = {2, 0}, .taper = none}, {3}},
      {{1, 9, 1}, {1, 0}, {.window = {3, 1}, .overlap = {1, 0}, .taper = none}},
      {{2, 5, 2, 3, 2}, {3, 1}, {.window = {2, 3}, .overlap = {1}, .taper = none}, {2}},
      {{9, 7},
       {0, 1},
       {.window = {3, 3}, .overlap = {1, 2}, .taper = none, .scalings = {1, 2, -1, 3, 0,  2, 5,
                                                                         1, 4, 2,  1, -2, 1, 3,
                                                                         2, 1, 7,  1, 2,  2}}},
  };
}

}  // namespace

TEST(Sliding, matches_matrix) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Case& which : {along_first, along_last, both}) {
        const auto expected = which.expected<T, T>();
        for_operator_layouts<T>(comm, which.data, [&](const Layout& layout) {
          if (which.accepts(layout))
            check_operator(which.make<T>(layout), expected, tolerance_of<T>(which));
        });
      }
    });
  });
}

TEST(Sliding, matches_matrix_exactly_without_taper) {
  on_ranks([](Comm comm) {
    using T = std::complex<float>;
    for (const Case& which : exact_cases()) {
      SCOPED_TRACE(to_string(which.data));
      const auto expected = which.expected<T, T>();
      check_operator(which.make<T>(Layout::replicated(comm, which.data)), expected);
      for (const int axis : which.axes)
        check_operator(which.make<T>(Layout::scatter(comm, which.data, axis)), expected);
    }
  });
}

TEST(Sliding, handles_uneven_parts) {
  on_ranks([](Comm comm) {
    using T = double;
    const Case which = exact_cases()[1];
    check_operator(which.make<T>(Layout::scatter(comm, which.data, 0, thirds(14, comm.size()))),
                   which.expected<T, T>());
    if (comm.size() > 1) {
      const auto extents = dealt(14, comm.size(), 0);
      check_operator(which.make<T>(Layout::scatter(comm, which.data, 0, extents)),
                     which.expected<T, T>());
    }
    check_operator(which.make<T>(Layout::on_rank(comm, which.data, comm.size() - 1)),
                   which.expected<T, T>());
  });
}

TEST(Sliding, converts_between_real_and_complex) {
  on_ranks([](Comm comm) {
    using C = std::complex<double>;
    const Layout layout = Layout::scatter(comm, along_first.data);
    check_operator(along_first.make<double, C>(layout), along_first.expected<double, C>(), 1e-13);
    check_operator(along_first.make<C, double>(layout), along_first.expected<C, double>(), 1e-13);
    const auto linear = along_first.make<C>(layout);
    EXPECT_TRUE(linear.is_complex_linear());
    const auto real = along_first.make<double, C>(layout);
    EXPECT_FALSE(real.is_complex_linear());
  });
}

TEST(Sliding, has_names_of_pylops) {
  on_ranks([](Comm comm) {
    const WindowOptions options{.window = {4}, .overlap = {2}};
    const auto expect_same = [&](const auto& a, const auto& b) {
      const auto x = make_array<double>(a.domain());
      ASSERT_EQ(a.domain(), b.domain());
      expect_elements<double>(a * x, (b * x).to_host());
    };
    const Layout line = Layout::scatter(comm, {10});
    const Layout plane = Layout::scatter(comm, {10, 6});
    const Layout volume = Layout::scatter(comm, {6, 4, 8});
    const auto of = [](const Shape& window) { return identity<double>(Layout::local(window)); };
    expect_same(sliding1d(line, of({4}), options), sliding(line, of({4}), {0}, options));
    expect_same(sliding2d(plane, of({4, 6}), options), sliding(plane, of({4, 6}), {0}, options));
    expect_same(sliding3d(volume, of({4, 4, 8}), options),
                sliding(volume, of({4, 4, 8}), {0, 1}, options));
    expect_same(patch2d(plane, of({4, 4}), options), sliding(plane, of({4, 4}), {0, 1}, options));
    expect_same(patch3d(volume, of({4, 4, 4}), options), patch(volume, of({4, 4, 4}), options));
  });
}

TEST(Sliding, windows_of_ones_add_up_to_one) {
  on_ranks([](Comm comm) {
    const Layout plane = Layout::scatter(comm, {29, 23}, 1);
    const auto A = patch(plane, identity<double>(Layout::local({9, 8})),
                         {.window = {9, 8}, .overlap = {4, 3}});
    DistributedArray<double> x(A.domain());
    x.fill(1.0);
    const auto y = A * x;
    for (const double value : y.to_host()) EXPECT_NEAR(value, 1, 1e-14);
  });
}

TEST(Sliding, distributes_windows_by_their_middle) {
  on_ranks([](Comm comm) {
    // Parts of 8 elements: windows of 4 every 4, whose middles are 2, 6, 10, ...
    const Layout even = Layout::scatter(comm, {8 * comm.size(), 3});
    const auto A = sliding2d(even, identity<double>(Layout::local({4, 3})), {.window = {4}});
    EXPECT_EQ(A.domain(), Layout::scatter(comm, {2 * comm.size(), 4, 3}));
    EXPECT_EQ(A.range(), even);
    const auto last = sliding(Layout::on_rank(comm, {8}, comm.size() - 1),
                              identity<double>(Layout::local({4})), {0}, {.window = {4}});
    EXPECT_EQ(last.domain().local_count(), comm.rank() + 1 == comm.size() ? 8 : 0);
    const Layout copies = Layout::replicated(comm, {8, 3});
    const auto B = sliding2d(copies, identity<double>(Layout::local({4, 3})), {.window = {4}});
    EXPECT_EQ(B.domain(), Layout::replicated(comm, {2, 4, 3}));
  });
}

TEST(Sliding, sends_one_message_per_neighbour) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const bool first = comm.rank() == 0;
    const bool last = comm.rank() + 1 == comm.size();
    const index_t neighbours = (first ? 0 : 1) + (last ? 0 : 1);
    for (const index_t windows_per_rank : {1, 5, 40}) {
      // Every window begins 4 elements before its part of 8 * windows_per_rank elements or later.
      const index_t n = 8 * windows_per_rank * comm.size() + 8;
      std::vector<index_t> extents(static_cast<std::size_t>(comm.size()), 8 * windows_per_rank);
      extents.front() += 4;
      extents.back() += 4;
      const Layout layout = Layout::scatter(comm, {n, 3}, 0, extents);
      const auto A = sliding2d(layout, identity<double>(Layout::local({16, 3})),
                               {.window = {16}, .overlap = {8}});
      auto x = make_array<double>(A.domain());
      auto y = make_array<double>(A.range());
      EXPECT_EQ(calls_of(comm, [&] { A.forward(x, y, {2, 3}); }), 2 * neighbours);
      EXPECT_EQ(calls_of(comm, [&] { A.adjoint(y, x, {2, 3}); }), 2 * neighbours);
      EXPECT_EQ(A.cost().messages, static_cast<double>(neighbours));
      EXPECT_EQ(A.adjoint_cost().messages, static_cast<double>(neighbours));
    }
  });
}

TEST(Sliding, allocates_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    for (const Layout& layout : {Layout::scatter(comm, {14, 6}), Layout::scatter(comm, {14, 6}, 1),
                                 Layout::replicated(comm, {14, 6})}) {
      const auto a = matrix_mult(make_array<float>(Layout::local({20, 3})));
      const auto A = patch(layout, a, {.window = {5, 4}, .overlap = {2}, .scalings = {}});
      auto x = make_array<float>(A.domain());
      auto y = make_array<float>(A.range());
      expect_no_allocation(comm, [&] {
        A.forward(x, y);
        A.forward(x, y, {2, 1});
        A.adjoint(y, x);
        A.adjoint(y, x, {0, 1});
      });
    }
  });
}

TEST(Sliding, proposes_sizes_for_windows_that_do_not_fit) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {15, 3});
    const auto make = [&](const WindowOptions& options) {
      return sliding2d(layout, identity<double>(Layout::local({5, 3})), options);
    };
    expect_error<ArgumentError>(
        comm,
        {"sliding2d", "5 with an overlap of 2", "axis 0 of (15, 3)", "4 of them cover 14",
         "an axis of 14 or 17", "overlap of 3", "windows of 3"},
        [&] { make({.window = {5}, .overlap = {2}, .taper = Taper::none}); });
    expect_error<ArgumentError>(comm, {"sliding2d", "0 of them", "an axis of 16", "windows of 15"},
                                [&] { make({.window = {16}, .overlap = {4}}); });
  });
}

TEST(Sliding, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {14, 3});
    const WindowOptions good{.window = {5}, .overlap = {2}};
    const auto a = identity<double>(Layout::local({5, 3}));
    const auto expect = [&](const std::vector<std::string>& words, const WindowOptions& options) {
      expect_error<ArgumentError>(comm, words, [&] { sliding(layout, a, {0}, options); });
    };
    expect({"sliding", "at least one", "0"}, {.window = {0}});
    expect({"sliding", "0 values of window"}, {});
    expect({"sliding", "0 to 4", "5"}, {.window = {5}, .overlap = {5}});
    expect({"sliding", "0 to 4", "-1"}, {.window = {5}, .overlap = {-1}});
    expect({"sliding", "half of the window", "3 of 5"}, {.window = {5}, .overlap = {3}});
    expect({"sliding", "Taper", "9"},
           {.window = {5}, .overlap = {2}, .taper = static_cast<Taper>(9)});
    expect({"sliding", "2 scalings", "4 windows"},
           {.window = {5}, .overlap = {2}, .scalings = {1, 2}});
    expect({"sliding", "scaling 2", "nan"},
           {.window = {5}, .overlap = {2}, .scalings = {1, 2, std::nan(""), 4}});
    expect_error<ArgumentError>(comm, {"sliding", "no axis"},
                                [&] { sliding(layout, a, {}, good); });
    expect_error<ArgumentError>(comm, {"sliding", "axis 0", "twice"}, [&] {
      sliding(layout, a, {0, -2}, good);
    });
    expect_error<ArgumentError>(comm, {"sliding", "2"}, [&] { sliding(layout, a, {2}, good); });
    expect_error<ArgumentError>(comm, {"patch3d", "3 axes", "(14, 3)"},
                                [&] { patch3d(layout, a, good); });
    expect_error<ArgumentError>(comm, {"sliding", "(5, 3)", "12 elements", "15"}, [&] {
      sliding(layout, identity<double>(Layout::local({4, 3})), {0}, good);
    });
    expect_error<ArgumentError>(comm, {"sliding", "local layouts", "debug"}, [&] {
      sliding(layout, identity<double>(Layout::local({5, 3}).on({DeviceKind::debug})), {0}, good);
    });
    expect_error<ArgumentError>(comm, {"sliding", "9 axes"}, [&] {
      const auto deep = some_operator<double>(Layout::local({1, 1, 1, 1, 1, 1, 1, 2}),
                                              Layout::local({5, 3}), seed);
      sliding(layout, deep, {0}, good);
    });
    expect_error<ArgumentError>(comm, {"sliding", "stack"}, [&] {
      sliding(Layout::stack({layout, layout}), a, {0}, good);
    });
    if (comm.size() == 1) return;
    expect_error<ArgumentError>(comm, {"sliding", "local layouts"}, [&] {
      sliding(layout, identity<double>(Layout::replicated(comm, {5, 3})), {0}, good);
    });
    expect_error<ArgumentError>(comm, {"sliding", "distributed along one axis", "(14, 3)"}, [&] {
      sliding(Layout::scatter(comm, {14, 3}, 1), a, {0}, good);
    });
  });
}

}  // namespace weft::test
