#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/to_device.hpp>

namespace weft::test {

TEST(ToDevice, is_the_identity_between_devices) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const Expected<T> expected(12, 12, [](index_t i, index_t j) { return i == j ? T{1} : T{}; });
      for_each_layout(layouts(comm, {4, 3}), [&](const Layout& layout) {
        // The debug device is slow.
        const bool is_plain = layout == Layout::scatter(comm, {4, 3});
        if (!is_plain && !std::same_as<T, std::complex<float>>) return;
        const auto a = to_device<T>(layout, other_device());
        EXPECT_EQ(a.domain().device(), Device::cpu());
        EXPECT_EQ(a.range().device(), other_device());
        check_operator(a, expected);
        check_operator(to_device<T>(a.range(), Device::cpu()), expected);
        EXPECT_TRUE(a.normal().is_identity());
        EXPECT_FALSE(a.capturable());
        EXPECT_TRUE(to_device<T>(layout, Device::cpu()).is_identity());
      });
    });
  });
}

TEST(ToDevice, lets_a_product_run_on_two_devices) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {5, 3});
    const auto d = make_array<double>(layout, 4);
    const auto there = to_device<double>(layout, other_device());
    const auto a = diagonal<double>(make_array<double>(there.range(), 3));
    const std::vector<double> on_host = global_values<double>(layout, 4);
    const std::vector<double> on_device = global_values<double>(layout, 3);
    check_operator(diagonal<double>(d) * adjoint(there) * a * there,
                   Expected<double>(15, 15, [&](index_t i, index_t j) {
                     const auto at = static_cast<std::size_t>(i);
                     return i == j ? on_host[at] * on_device[at] : 0.0;
                   }));
  });
}

TEST(ToDevice, works_on_stacks) {
  on_ranks([](Comm comm) {
    const Layout stack =
        Layout::stack({Layout::scatter(comm, {5, 2}), Layout::replicated(comm, {3})});
    check_operator(
        to_device<float>(stack, other_device()),
        Expected<float>(13, 13, [](index_t i, index_t j) { return i == j ? 1.0F : 0.0F; }));
  });
}

TEST(ToDevice, rejects_devices_that_do_not_exist) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4});
    expect_error<DeviceError>(comm, {"cuda:4096"},
                              [&] { to_device<double>(layout, Device::cuda(4096)); });
  });
}

}  // namespace weft::test
