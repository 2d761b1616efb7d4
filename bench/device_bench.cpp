// Array arithmetic on a GPU against the bandwidth of a copy on it. Needs a GPU; says so otherwise.

#include <weft/weft.hpp>

#include "report.hpp"

#include <cstdlib>
#include <functional>

using namespace weft;

namespace {

constexpr int rounds = 11;
constexpr int repeats = 5;

/// The work and everything before it on this thread's stream, until it is done.
template <class F>
auto timed(Device device, F work) {
  return [=] {
    work();
    Stream::current(device).synchronize();
  };
}

void compare(bench::Report& report, const char* name, double bytes, Device device,
             const std::function<void()>& work, const std::function<void()>& copy,
             double copied_bytes) {
  bench::Pair pair = bench::compare(rounds, repeats, timed(device, work), timed(device, copy));
  // Both are brought to the same number of bytes read and written.
  for (double& time : pair.baseline) time *= bytes / copied_bytes;
  report.add(name, "copy of as many bytes", pair, 1 / 0.9);
}

}  // namespace

int main(int argc, char** argv) {
  const Device gpu = Device::cuda();
  try {
    require_available(gpu);
  } catch (const DeviceError& error) {
    fmt::print("device_bench: {}\n", error.what());
    return EXIT_SUCCESS;
  }
  bench::Report report(argc, argv, "Array arithmetic on one GPU, 1 GiB arrays of doubles");
  const index_t n = index_t{1} << 27;
  const Layout layout = Layout::local({n}).on(gpu);
  DistributedArray<double> x(layout);
  DistributedArray<double> y(layout);
  x.fill(1.0);
  y.fill(2.0);
  const double array_bytes = 8.0 * static_cast<double>(n);
  const auto raw_copy = [&] {
    copy_bytes(y.data(), gpu, x.data(), gpu, static_cast<std::size_t>(array_bytes));
  };
  compare(
      report, "copy", 2 * array_bytes, gpu, [&] { copy(x, y); }, raw_copy, 2 * array_bytes);
  compare(
      report, "axpy", 3 * array_bytes, gpu, [&] { axpy(1e-9, x, y); }, raw_copy, 2 * array_bytes);
  compare(
      report, "dot", 2 * array_bytes, gpu, [&] { static_cast<void>(dot(x, y)); }, raw_copy,
      2 * array_bytes);
  compare(
      report, "axpy_dot", 3 * array_bytes, gpu, [&] { static_cast<void>(axpy_dot(1e-9, x, y, y)); },
      raw_copy, 2 * array_bytes);
  return EXIT_SUCCESS;
}
