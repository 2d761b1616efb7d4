#include "op/support/check_operator.hpp"

#include <weft/core/error.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/fourier/dct.hpp>
#include <weft/op/fourier/fft.hpp>
#include <weft/op/radon/chirp_radon.hpp>
#include <weft/op/radon/fourier_radon.hpp>

namespace weft::test {

TEST(NoFft, is_reported_when_a_transform_is_constructed) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {4, 5});
    expect_error<DeviceError>(comm, {"fft:", "FFTW"}, [&] { fft<double>(layout); });
    expect_error<DeviceError>(comm, {"dct:", "FFTW"}, [&] { dct<double>(layout); });
    expect_error<DeviceError>(comm, {"chirp_radon2d:", "FFTW"},
                              [&] { chirp_radon2d<double>(layout, {}); });
    expect_error<DeviceError>(comm, {"fourier_radon2d:", "FFTW"}, [&] {
      fourier_radon2d<double>(layout, {.offsets = {1}, .slownesses = {1, 2, 3, 4}});
    });
    const std::vector<double> h(3);
    expect_error<DeviceError>(
        comm, {"FFTW"}, [&] { convolve1d<double>(layout, h, {.method = ConvolutionMethod::fft}); });
    const std::vector<double> many(1000, 1.0);
    EXPECT_NO_THROW(convolve1d<double>(Layout::scatter(comm, {100}), many));
  });
}

}  // namespace weft::test
