// Arrays filled on the GPU, in a file that nvcc compiles as it would a program of a user.

#include <weft/weft.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <complex>

namespace weft::test {
namespace {

// nvcc does not take lambdas for the device in a test itself, which is a private member function.
template <class T>
void fill_with_coordinates(DistributedArray<T>& x, int scale) {
  x.fill([=] __host__ __device__(Index at) { return T(scale * (100.0F * at[0] + at[1])); });
}

bool has_gpu() { return device_count(DeviceKind::cuda) > 0; }

template <class T>
void expect_filled_without_the_host() {
  on_ranks([](Comm comm) {
    for (const Layout& layout : {Layout::scatter(comm, {7, 5}), Layout::scatter(comm, {7, 5}, 1),
                                 Layout::bricks(comm, {7, 5}), Layout::replicated(comm, {7, 5})}) {
      DistributedArray<T> x(layout.on(Device::cuda()));
      const index_t waits = Stream::host_waits();
      fill_with_coordinates(x, 3);
      if (comm.size() == 1) {  // the count is the process's
        EXPECT_EQ(Stream::host_waits(), waits);
      }
      DistributedArray<T> expected(layout);
      expected.fill([](Index at) { return T(static_cast<float>(3 * (100 * at[0] + at[1]))); });
      EXPECT_EQ(x.to_host(), expected.to_host());
    }
  });
}

}  // namespace

TEST(DistributedArrayCudaFill, computes_values_on_the_gpu) {
  if (!has_gpu()) GTEST_SKIP() << "this machine has no GPU";
  expect_filled_without_the_host<float>();
  expect_filled_without_the_host<double>();
}

TEST(DistributedArrayCudaFill, computes_them_on_the_host_for_arrays_there) {
  DistributedArray<double> x(Layout::local({3, 4}));
  fill_with_coordinates(x, 2);
  EXPECT_EQ(x.view()(2, 3), 406);
}

}  // namespace weft::test
