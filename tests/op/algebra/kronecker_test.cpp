#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/kronecker.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/relabel.hpp>
#include <weft/op/basic/zero.hpp>

namespace weft::test {
namespace {

/// The Kronecker product of two matrices.
template <class T>
Expected<T> product_of(const Expected<T>& a, const Expected<T>& b) {
  return {a.rows * b.rows, a.columns * b.columns, [&](index_t row, index_t column) {
            const index_t i = row / b.rows * a.columns + column / b.columns;
            const index_t j = row % b.rows * b.columns + column % b.columns;
            return a.on_real[static_cast<std::size_t>(i)] * b.on_real[static_cast<std::size_t>(j)];
          }};
}

struct Case {
  Shape a_domain;
  Shape a_range;
  Shape b_domain;
  Shape b_range;
};

std::vector<Case> cases() {
  return {{{3}, {4}, {2}, {5}},
          {{2, 2}, {3}, {5}, {1, 2}},
          {{1}, {1}, {3}, {2}},
          {{7}, {1}, {1}, {3}},
          {{2}, {0}, {3}, {3}}};
}

}  // namespace

TEST(Kronecker, matches_the_product_of_matrices) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Device device : {Device::cpu(), other_device()}) {
        if (device.kind == DeviceKind::debug && !std::same_as<T, std::complex<float>>) continue;
        for (const Case& each : cases()) {
          const auto local = [&](const Shape& shape) { return Layout::local(shape).on(device); };
          const auto a = some_operator<T>(local(each.a_domain), local(each.a_range), 1);
          const auto b = some_operator<T>(local(each.b_domain), local(each.b_range), 2);
          const auto expected =
              product_of(some_matrix<T>(a.range().count(), a.domain().count(), 1),
                         some_matrix<T>(b.range().count(), b.domain().count(), 2));
          check_operator(kronecker(a, b), expected);
          const auto distributed = kronecker(a, b, {.over = comm});
          check_operator(distributed, expected);
          EXPECT_EQ(distributed.domain(),
                    Layout::scatter(comm, {a.domain().count(), b.domain().count()}).on(device));
          EXPECT_EQ(distributed.range(),
                    Layout::scatter(comm, {a.range().count(), b.range().count()}, 1).on(device));
        }
      }
    });
  });
}

TEST(Kronecker, takes_operators_between_real_and_complex_arrays) {
  on_ranks([](Comm comm) {
    using C = std::complex<double>;
    const auto a = some_operator<C>(Layout::local({2}), Layout::local({3}), 1);
    const auto b = some_operator<double, C>(Layout::local({4}), Layout::local({2}), 2);
    const auto left = some_matrix<C>(3, 2, 1);
    const auto right = some_matrix<double, C>(2, 4, 2);
    const Expected<double, C> expected(6, 8, [&](index_t row, index_t column) {
      return left.on_real[static_cast<std::size_t>(row / 2 * 2 + column / 4)] *
             right.on_real[static_cast<std::size_t>(row % 2 * 4 + column % 4)];
    });
    check_operator(kronecker(a, b), expected);
    check_operator(kronecker(a, b, {.over = comm}), expected);
  });
}

TEST(Kronecker, simplifies) {
  on_ranks([](Comm comm) {
    const auto one = identity<double>(Layout::local({3}));
    const auto b = some_operator<double>(Layout::local({2}), Layout::local({4}), 2);
    const auto matrix = some_matrix<double>(4, 2, 2);
    check_operator(kronecker(one, b), product_of(identity_matrix<double>(3), matrix));
    check_operator(kronecker(b, one), product_of(matrix, identity_matrix<double>(3)));
    check_operator(kronecker(one, b, {.over = comm}),
                   product_of(identity_matrix<double>(3), matrix));
    const auto none = zero<double>(Layout::local({2}), Layout::local({5}));
    EXPECT_TRUE(kronecker(none, b).is_zero());
    EXPECT_TRUE(kronecker(b, none).is_zero());
    EXPECT_EQ(kronecker(b, none).range(), Layout::local({4, 5}));
  });
}

TEST(Kronecker, of_distributed_columns_and_an_identity_sends_nothing) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const Layout columns = Layout::scatter(comm, {3, 5}, 1);
    const auto a = some_operator<double>(Layout::local({3}), Layout::local({4}), 1);
    const auto mine = identity<double>(Layout::local({columns.box().shape[1]}));
    const auto all = block_diag(comm, {kronecker(a, mine)});
    const auto k = relabel<double>(all.range(), Layout::scatter(comm, {4, 5}, 1)) * all *
                   relabel<double>(columns, all.domain());
    check_operator(k, product_of(some_matrix<double>(4, 3, 1), identity_matrix<double>(5)));
    const auto x = make_array<double>(k.domain());
    auto y = make_array<double>(k.range());
    EXPECT_EQ(calls_of(comm, [&] { k.forward(x, y); }), 0);
  });
}

TEST(Kronecker, rejects_bad_arguments) {
  on_ranks([](Comm comm) {
    const auto local = identity<double>(Layout::local({3}));
    const auto elsewhere = identity<double>(Layout::local({3}).on(other_device()));
    expect_error<ArgumentError>(comm, {"kronecker", "identity", to_string(other_device())},
                                [&] { kronecker(local, elsewhere); });
    if (comm.size() == 1) return;
    const auto distributed = identity<double>(Layout::scatter(comm, {3}));
    expect_error<ArgumentError>(comm, {"kronecker", "identity", "local layouts"},
                                [&] { kronecker(local, distributed); });
    expect_error<ArgumentError>(comm, {"kronecker", "identity", "local layouts"},
                                [&] { kronecker(distributed, local); });
  });
}

}  // namespace weft::test
