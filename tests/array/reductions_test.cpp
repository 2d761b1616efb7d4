#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/layout_transforms.hpp>
#include <weft/array/random.hpp>
#include <weft/array/reductions.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const std::vector<double> orders = {0, 1, 2, 3, 0.5, -1, inf, -inf};

/// The result of numpy.linalg.norm, in long double.
template <class T>
double naive_norm(const std::vector<T>& x, double order) {
  long double total = order == -inf ? inf : 0;
  for (const T& element : x) {
    const long double re = std::real(element);
    const long double im = std::imag(element);
    const long double size = std::sqrt(re * re + im * im);
    if (order == inf) {
      total = std::max(total, size);
    } else if (order == -inf) {
      total = std::min(total, size);
    } else if (order == 0) {
      total += size > 0 ? 1 : 0;
    } else {
      total += std::pow(size, static_cast<long double>(order));
    }
  }
  const bool rooted = order != 0 && std::isfinite(order);
  return static_cast<double>(rooted ? std::pow(total, 1 / static_cast<long double>(order)) : total);
}

/// Magnitudes are rounded to the type of the elements; sums are not.
template <class T>
double tolerance(double expected) {
  const double epsilon = is_complex<T>
                             ? static_cast<double>(std::numeric_limits<Real<T>>::epsilon())
                             : std::numeric_limits<double>::epsilon();
  return 50 * epsilon * std::abs(expected);
}

template <class T>
Accumulator<T> naive_dot(const std::vector<T>& x, const std::vector<T>& y, Conjugate conjugate) {
  Accumulator<T> total{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    Accumulator<T> left = x[i];
    if constexpr (is_complex<T>) {
      if (conjugate == Conjugate::first) left = {left.real(), -left.imag()};
    }
    total += left * Accumulator<T>(y[i]);
  }
  return total;
}

/// Expects the same bits on all ranks.
template <class A>
void expect_same_everywhere(const Comm& comm, A result) {
  std::vector<A> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::vector<A>{result}, all);
  for (const A& other : all) EXPECT_EQ(std::memcmp(&other, &result, sizeof(A)), 0);
}

template <class T>
std::vector<T> line_along(const std::vector<T>& values, const Shape& shape, Index at, int axis) {
  std::vector<T> line;
  for (at[axis] = 0; at[axis] < shape[axis]; ++at[axis]) {
    line.push_back(values[static_cast<std::size_t>(position_of(shape, at))]);
  }
  return line;
}

/// Numbers whose sums are rounded.
DistributedArray<double> fractions(const Layout& layout) {
  DistributedArray<double> x(layout);
  x.fill([&](const Index& at) {
    return 1.0 / static_cast<double>(3 + position_of(layout.shape(), at));
  });
  return x;
}

}  // namespace

TEST(Reductions, count_each_element_once) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
        const auto x = make_array<T>(layout, 1);
        const auto y = make_array<T>(layout, 2);
        const std::vector<T> all_x = global_values<T>(layout, 1);
        const std::vector<T> all_y = global_values<T>(layout, 2);
        EXPECT_EQ(dot(x, y), naive_dot(all_x, all_y, Conjugate::first));
        EXPECT_EQ(dot(x, y, Conjugate::none), naive_dot(all_x, all_y, Conjugate::none));
        EXPECT_EQ(dot(x, x), naive_dot(all_x, all_x, Conjugate::first));
        EXPECT_EQ(sum(x), naive_dot(std::vector<T>(all_x.size(), T{1}), all_x, Conjugate::none));
        EXPECT_EQ(x.to_host(), local_values<T>(layout, 1));
      });
    });
  });
}

TEST(Reductions, ones_add_up_to_the_number_of_elements) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : shapes()) {
      for_each_layout(layouts(comm, shape), [&](const Layout& layout) {
        DistributedArray<float> x(layout);
        x.fill(1.0F);
        const auto count = static_cast<double>(elements_of(shape));
        EXPECT_EQ(sum(x), count);
        EXPECT_EQ(dot(x, x), count);
        EXPECT_EQ(norm(x, 0), count);
        EXPECT_EQ(norm(x, 1), count);
        EXPECT_DOUBLE_EQ(norm(x), std::sqrt(count));
      });
    }
  });
}

TEST(Reductions, norms_of_all_orders) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
        const auto x = make_array<T>(layout, 1);
        for (const double order : orders) {
          const double expected = naive_norm(global_values<T>(layout, 1), order);
          EXPECT_NEAR(norm(x, order), expected, tolerance<T>(expected)) << "order " << order;
        }
        EXPECT_EQ(norm(x), norm(x, 2));
      });
    });
  });
}

TEST(Reductions, smallest_and_largest) {
  on_ranks([](Comm comm) {
    for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
      const std::vector<float> all = global_values<float>(layout, 1);
      EXPECT_EQ(min(make_array<float>(layout, 1)), *std::min_element(all.begin(), all.end()));
      EXPECT_EQ(max(make_array<float>(layout, 1)), *std::max_element(all.begin(), all.end()));
      EXPECT_EQ(min(make_array<double>(layout, 1)), *std::min_element(all.begin(), all.end()));
      EXPECT_EQ(max(make_array<double>(layout, 1)), *std::max_element(all.begin(), all.end()));
    });
    for_each_layout(layouts(comm, {3}), [](const Layout& layout) {
      DistributedArray<double> x(layout);
      x.fill(-5.0);
      EXPECT_EQ(max(x), -5);
      EXPECT_EQ(min(x), -5);
      x.fill(inf);
      EXPECT_EQ(min(x), inf);
      x.fill(-inf);
      EXPECT_EQ(max(x), -inf);
    });
  });
}

TEST(Reductions, propagate_nan) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {4, 5})), [](const Layout& layout) {
      for (const index_t where : {0, 7, 19}) {
        DistributedArray<double> x(layout);
        x.fill([&](const Index& at) { return position_of({4, 5}, at) == where ? nan : 1.0; });
        EXPECT_TRUE(std::isnan(min(x)));
        EXPECT_TRUE(std::isnan(max(x)));
        EXPECT_TRUE(std::isnan(sum(x)));
        EXPECT_TRUE(std::isnan(dot(x, x)));
        for (const double order : {1.0, 2.0, 3.0, inf, -inf}) {
          EXPECT_TRUE(std::isnan(norm(x, order))) << "order " << order;
        }
        const auto along = norm_along(x, 0, inf).all_gather();
        for (index_t column = 0; column < 5; ++column) {
          EXPECT_EQ(std::isnan(along[static_cast<std::size_t>(column)]), column == where % 5);
        }
      }
    });
  });
}

TEST(Reductions, of_arrays_without_elements) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{0}, Shape{4, 0, 3}}) {
      for_each_layout(layouts(comm, shape), [](const Layout& layout) {
        const DistributedArray<float> x(layout);
        EXPECT_THROW(min(x), ArgumentError);
        EXPECT_THROW(max(x), ArgumentError);
        EXPECT_EQ(sum(x), 0);
        EXPECT_EQ(dot(x, x), 0);
        for (const double order : {0.0, 1.0, 2.0, 3.0, inf}) EXPECT_EQ(norm(x, order), 0);
      });
    }
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

TEST(Reductions, float_arrays_are_summed_in_double) {
  on_ranks([](Comm comm) {
    const index_t n = 3000001;
    DistributedArray<float> x(Layout::scatter(comm, {n}));
    x.fill(0.1F);
    const double tenth = 0.1F;
    const auto count = static_cast<double>(n);
    EXPECT_NEAR(sum(x), count * tenth, 1e-12 * count);
    EXPECT_NEAR(dot(x, x), count * tenth * tenth, 1e-12 * count);
    EXPECT_NEAR(norm(x, 1), count * tenth, 1e-12 * count);
    EXPECT_NEAR(norm(x), std::sqrt(count) * tenth, 1e-12 * count);
    // One more than the largest integer that a float counts to.
    x.fill(1.0F);
    DistributedArray<float> large(Layout::replicated(comm, {3}));
    large.from_host(std::vector<float>{16777216.0F, 1.0F, 1.0F});
    EXPECT_EQ(sum(large), 16777218);
  });
}

TEST(Reductions, two_norm_does_not_overflow_or_underflow) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {3, 4})), [](const Layout& layout) {
      for (const double size : {1e200, 1e-200, 1e308, 4e-320, 1e150, 1e-160}) {
        DistributedArray<double> x(layout);
        x.fill(size / 2);
        EXPECT_NEAR(norm(x) / size, std::sqrt(12) / 2, 1e-3) << size;
        if (size > 1e-300) {
          EXPECT_NEAR(norm(x) / size, std::sqrt(12) / 2, 1e-14) << size;
        }
        DistributedArray<std::complex<double>> z(layout);
        z.fill(std::complex<double>(0.3 * size, -0.4 * size));
        EXPECT_NEAR(norm(z) / size, std::sqrt(12) / 2, 1e-3) << size;
      }
      DistributedArray<double> x(layout);
      EXPECT_EQ(norm(x), 0);
      x.fill(-inf);
      EXPECT_EQ(norm(x), inf);
      DistributedArray<float> y(layout);
      y.fill(1e30F);
      EXPECT_NEAR(norm(y), std::sqrt(12) * static_cast<double>(1e30F), 1e17);
      y.fill(1e-30F);
      EXPECT_NEAR(norm(y), std::sqrt(12) * static_cast<double>(1e-30F), 1e-43);
    });
  });
}

TEST(Reductions, give_the_same_bits_on_all_ranks_and_every_time) {
  on_ranks([](Comm comm) {
    const std::vector<Layout> some = {Layout::scatter(comm, {13, 7, 11}),
                                      Layout::bricks(comm, {13, 7, 11}),
                                      Layout::scatter(comm, {13, 7, 11}, 1, thirds(7, comm.size())),
                                      Layout::replicated(comm, {13, 7, 11})};
    for (const Layout& layout : some) {
      SCOPED_TRACE(to_string(layout));
      const auto x = fractions(layout);
      const double first_dot = dot(x, x);
      const double first_norm = norm(x, 3);
      expect_same_everywhere(comm, first_dot);
      expect_same_everywhere(comm, first_norm);
      expect_same_everywhere(comm, norm(x));
      expect_same_everywhere(comm, sum(x));
      for (int repeat = 0; repeat < 20; ++repeat) {
        ASSERT_EQ(dot(x, x), first_dot);
        ASSERT_EQ(norm(x, 3), first_norm);
      }
      const auto alone = fractions(Layout::local({13, 7, 11}));
      EXPECT_NEAR(first_dot, dot(alone, alone), 1e-14);
    }
  });
}

TEST(Reductions, norms_along_an_axis) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Shape shape = {5, 3, 4};
      for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
        const auto x = make_array<T>(layout, 1);
        const std::vector<T> all = global_values<T>(layout, 1);
        for (const int axis : {0, 1, 2, -1}) {
          const int along = axis < 0 ? 2 : axis;
          const Shape rest = along == 0 ? Shape{3, 4} : along == 1 ? Shape{5, 4} : Shape{5, 3};
          for (const double order : orders) {
            SCOPED_TRACE("axis " + std::to_string(axis) + ", order " + std::to_string(order));
            const DistributedArray<Real<T>> norms = norm_along(x, axis, order);
            ASSERT_EQ(norms.shape(), rest);
            EXPECT_EQ(norms.device(), layout.device());
            EXPECT_EQ(norms.layout(), without_axis(layout, axis));
            const std::vector<Real<T>> seen = norms.to_host();
            std::size_t position = 0;
            for_each_point(norms.layout().box(), [&](const Index& at) {
              Index start = Index::filled(3, 0);
              for (int from = 0, to = 0; to < 3; ++to) start[to] = to == along ? 0 : at[from++];
              const double expected = naive_norm(line_along(all, shape, start, along), order);
              ASSERT_LT(position, seen.size());
              EXPECT_NEAR(seen[position++], expected,
                          20 * std::numeric_limits<Real<T>>::epsilon() * expected);
            });
            EXPECT_EQ(position, seen.size());
          }
        }
      });
    });
  });
}

TEST(Reductions, norms_along_the_axis_of_a_vector_are_its_norm) {
  on_ranks([](Comm comm) {
    for (const index_t n : {1, 3, 17}) {
      for_each_layout(on_devices(layouts(comm, {n})), [&](const Layout& layout) {
        const auto x = make_array<double>(layout, 1);
        for (const double order : orders) {
          const DistributedArray<double> number = norm_along(x, 0, order);
          EXPECT_EQ(number.shape(), Shape());
          ASSERT_EQ(number.local_count(), 1);
          const double expected = naive_norm(global_values<double>(layout, 1), order);
          EXPECT_NEAR(number.to_host()[0], expected, 1e-13 * expected);
          EXPECT_NEAR(number.all_gather()[0], expected, 1e-13 * expected);
        }
      });
    }
  });
}

TEST(Reductions, results_along_an_axis_are_arrays) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, {5, 3, 4})), [](const Layout& layout) {
      const auto x = make_array<double>(layout, 1);
      // Each line counts once, although several ranks may have its norm.
      const double total = norm(x);
      for (const int axis : {0, 1, 2}) {
        const DistributedArray<double> norms = norm_along(x, axis);
        EXPECT_NEAR(norm(norms), total, 1e-13 * total);
        EXPECT_NEAR(norm(norm_along(norms, -1)), total, 1e-13 * total);
        EXPECT_EQ(sum(norm_along(x, axis, 0)), norm(x, 0));
        EXPECT_EQ(max(norm_along(x, axis, inf)), norm(x, inf));
        EXPECT_EQ(min(norm_along(x, axis, -inf)), norm(x, -inf));
      }
    });
  });
}

// With numbers whose sums are rounded, in arrays long enough for every loop.
TEST(Reductions, axpy_dot_is_the_dot_of_its_output) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const index_t n : {7, 1000, 100'003}) {
        const Layout layout = Layout::scatter(comm, {n});
        T a = static_cast<T>(static_cast<Real<T>>(0.7));
        if constexpr (is_complex<T>) a = T(a.real(), static_cast<Real<T>>(-0.3));
        const auto x = random_array<T>(layout, 1);
        const auto z = random_array<T>(layout, 2);
        auto y = random_array<T>(layout, 3);
        const auto with_other = axpy_dot(a, x, y, z);
        EXPECT_EQ(with_other, dot(z, y)) << n;
        const auto with_itself = axpy_dot(a, x, y, y);
        EXPECT_EQ(with_itself, dot(y, y)) << n;
        if constexpr (!is_complex<T>) {
          EXPECT_EQ(std::sqrt(with_itself), norm(y)) << n;
        }
        auto expected = random_array<T>(layout, 3);
        axpy(a, x, expected);
        axpy(a, x, expected);
        EXPECT_EQ(y.to_host(), expected.to_host()) << n;
      }
    });
  });
}

TEST(Reductions, axpy_and_dot_in_one) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
        const auto x = make_array<T>(layout, 1);
        const auto z = make_array<T>(layout, 3);
        auto y = make_array<T>(layout, 2);
        auto expected = make_array<T>(layout, 2);
        axpy(T{-3}, x, expected);
        const std::vector<T> elements = expected.to_host();
        EXPECT_EQ(axpy_dot(T{-3}, x, y, z), dot(z, expected));
        EXPECT_EQ(y.to_host(), elements);
        axpy(T{2}, x, expected);
        EXPECT_EQ(axpy_dot(T{2}, x, y, y), dot(expected, expected));
        EXPECT_EQ(y.to_host(), expected.to_host());
      });
    });
  });
}

TEST(Reductions, differing_replicas_are_detected) {
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    const Layout replicated = Layout::replicated(comm, {4, 5});
    const std::vector<Layout> some = {replicated, replicated.on(other_device()),
                                      Layout::stack({Layout::scatter(comm, {7}), replicated})};
    for (const Layout& layout : some) {
      SCOPED_TRACE(to_string(layout));
      auto x = make_array<double>(layout, 1);
      auto y = make_array<double>(layout, 2);
      const auto good = make_array<double>(layout, 3);
      EXPECT_NO_THROW(verify_replicas(x));
      EXPECT_NO_THROW(dot(x, x));
      EXPECT_NO_THROW(axpy_dot(1, x, y, good));
      for (int wrong = 1; wrong < comm.size(); ++wrong) {
        std::vector<double> elements = local_values<double>(layout, 1);
        if (comm.rank() == wrong) elements.back() = std::nextafter(elements.back(), 100.0);
        x.from_host(elements);
        EXPECT_THROW(verify_replicas(x), AgreedError);
        EXPECT_THROW(dot(x, x), AgreedError);
        EXPECT_THROW(dot(x, good), AgreedError);
        EXPECT_THROW(dot(good, x), AgreedError);
        EXPECT_THROW(axpy_dot(1, x, y, good), AgreedError);
        EXPECT_THROW(axpy_dot(1, good, y, x), AgreedError);
        EXPECT_THROW(axpy_dot(1, good, x, good), AgreedError);
        EXPECT_THROW(sum(x), AgreedError);
        EXPECT_THROW(max(x), AgreedError);
        EXPECT_THROW(norm(x), AgreedError);
        EXPECT_EQ(comm.allreduce(1), comm.size());
      }
      // The same elements in another order count as different.
      std::vector<double> elements = local_values<double>(layout, 1);
      if (comm.rank() == 0) std::reverse(elements.end() - 20, elements.end());
      x.from_host(elements);
      if (comm.size() > 1) {
        EXPECT_THROW(verify_replicas(x), AgreedError);
      }
    }
    for_each_layout(layouts(comm, {4, 5}), [](const Layout& layout) {
      EXPECT_NO_THROW(verify_replicas(make_array<float>(layout)));
    });
  });
}

TEST(Reductions, send_one_message_or_none) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout rows = Layout::scatter(comm, {9, 4});
    const Layout bricks = Layout::bricks(comm, {5, 6, 7}, wide_grid(comm.size(), 3));
    const Layout replicated = Layout::replicated(comm, {8});
    const index_t one = comm.size() > 1 ? 1 : 0;
    const auto expect_calls = [&](const Layout& layout, index_t expected) {
      SCOPED_TRACE(to_string(layout));
      auto x = make_array<double>(layout, 1);
      const auto y = make_array<double>(layout, 2);
      const auto count = [&](const std::function<void()>& call) {
        comm.reset_stats();
        call();
        EXPECT_EQ(comm.stats()[CallKind::allreduce].messages, expected);
        EXPECT_EQ(comm.stats().total().messages, expected);
      };
      count([&] { dot(x, y); });
      count([&] { sum(x); });
      count([&] { min(x); });
      count([&] { max(x); });
      count([&] { axpy_dot(2, y, x, x); });
      for (const double order : orders) count([&] { norm(x, order); });
    };
    expect_calls(rows, one);
    expect_calls(bricks, one);
    expect_calls(replicated, 0);
    expect_calls(Layout::stack({rows, bricks, rows}), one);
    expect_calls(Layout::stack({rows, replicated, Layout::stack({bricks, replicated})}), one);
    expect_calls(Layout::stack({replicated, replicated}), 0);
    expect_calls(Layout::local({9}), 0);
  });
}

TEST(Reductions, along_an_axis_communicate_only_within_a_line) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const auto rows = make_array<double>(Layout::scatter(comm, {9, 4}));
    const auto replicated = make_array<double>(Layout::replicated(comm, {9, 4}));
    comm.reset_stats();
    norm_along(rows, 1);
    norm_along(replicated, 0);
    norm_along(replicated, 1);
    EXPECT_EQ(comm.stats().total().calls, 0);
    norm_along(rows, 0);
    EXPECT_EQ(comm.stats().total().messages, comm.size() > 1 ? 1 : 0);
  });
}

TEST(Reductions, stacks_may_need_many_communicators) {
  on_ranks([](Comm comm) {
    // Groups of one rank need no communicator; the others need one each.
    std::vector<Layout> parts = {Layout::scatter(comm, {11})};
    for (int part = 0; part < 6; ++part) {
      std::vector<int> groups(static_cast<std::size_t>(comm.size()));
      groups.back() = 1;
      parts.push_back(Layout::scatter(comm, {5}).within(groups));
    }
    parts.push_back(Layout::scatter(comm, {3}));
    parts.push_back(Layout::replicated(comm, {2}));
    DistributedArray<double> x(Layout::stack(parts));
    x.fill(1.0);
    EXPECT_EQ(sum(x), 11 + 6 * 5 + 3 + 2);
    EXPECT_EQ(norm(x, 1), 46);
    EXPECT_EQ(max(x), 1);
  });
}

}  // namespace weft::test
