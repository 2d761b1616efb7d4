#include <weft/op/seismic/reflection.hpp>

#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace weft::test {
namespace {

using Complex = std::complex<double>;

const ElasticMedium shale{2800, 1400, 2.3};
const ElasticMedium sand{3400, 2000, 2.2};

/// rho v cos(angle) of the four waves of the scattering matrix: their flux of energy per squared
/// amplitude.
std::array<Complex, 4> fluxes(const ElasticMedium& upper, const ElasticMedium& lower,
                              double theta) {
  const double p = std::sin(theta * std::numbers::pi / 180) / upper.vp;
  const auto flux = [&](double rho, double v) {
    return rho * v * std::sqrt(Complex(1 - p * p * v * v));
  };
  return {flux(upper.rho, upper.vp), flux(upper.rho, upper.vs), flux(lower.rho, lower.vp),
          flux(lower.rho, lower.vs)};
}

/// Media whose relative contrasts are `contrast` times (0.3, -0.5, 0.2) about the same means.
std::pair<ElasticMedium, ElasticMedium> similar_media(double contrast) {
  const auto medium = [&](double sign) {
    const double half = sign * contrast / 2;
    return ElasticMedium{3000 * (1 + 0.3 * half), 1500 * (1 - 0.5 * half), 2.2 * (1 + 0.2 * half)};
  };
  return {medium(-1), medium(1)};
}

/// The difference of an element of the scattering matrix from a linearization.
double error_of(const std::vector<double>& coefficients, std::size_t outgoing, double theta,
                double contrast) {
  const auto [upper, lower] = similar_media(contrast);
  const double linear =
      contrast * (0.3 * coefficients[0] - 0.5 * coefficients[1] + 0.2 * coefficients[2]);
  return std::abs(zoeppritz_scattering(upper, lower, theta)[outgoing][0] - linear);
}

}  // namespace

TEST(Reflection, at_normal_incidence_is_the_contrast_of_impedances) {
  const double z1 = shale.rho * shale.vp;
  const double z2 = sand.rho * sand.vp;
  const ScatteringMatrix s = zoeppritz_scattering(shale, sand, 0);
  EXPECT_NEAR(std::abs(s[0][0] - (z2 - z1) / (z2 + z1)), 0, 1e-14);
  EXPECT_NEAR(std::abs(s[2][0] - 2 * z1 / (z1 + z2)), 0, 1e-14);
  EXPECT_NEAR(std::abs(s[1][0]), 0, 1e-14);
  EXPECT_NEAR(std::abs(s[3][0]), 0, 1e-14);
  EXPECT_NEAR(std::abs(approx_zoeppritz_pp(shale, sand, 0) - (z2 - z1) / (z2 + z1)), 0, 1e-14);
  const double w1 = shale.rho * shale.vs;
  const double w2 = sand.rho * sand.vs;
  EXPECT_NEAR(std::abs(std::abs(s[1][1]) - std::abs((w2 - w1) / (w2 + w1))), 0, 1e-14);
}

TEST(Reflection, within_one_medium_transmits_everything) {
  for (const double theta : {0.0, 25.0, 60.0, 85.0}) {
    const ScatteringMatrix s = zoeppritz_scattering(sand, sand, theta);
    for (std::size_t out = 0; out < 4; ++out) {
      for (std::size_t in = 0; in < 4; ++in) {
        const bool passes = out == (in + 2) % 4;
        EXPECT_NEAR(std::abs(s[out][in] - (passes ? 1.0 : 0.0)), 0, 1e-12) << out << " " << in;
      }
    }
    EXPECT_NEAR(std::abs(approx_zoeppritz_pp(sand, sand, theta)), 0, 1e-13);
  }
}

TEST(Reflection, conserves_energy) {
  // The critical angle of P waves is asin(2800 / 3400) = 55.4 degrees.
  for (const double theta : {0.0, 10.0, 35.0, 54.0}) {
    const ScatteringMatrix s = zoeppritz_scattering(shale, sand, theta);
    const auto flux = fluxes(shale, sand, theta);
    // Scaled by the square roots of the fluxes, the matrix is orthogonal, and symmetric up to the
    // signs of polarizations.
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = 0; b < 4; ++b) {
        Complex product = 0;
        for (std::size_t out = 0; out < 4; ++out) {
          product += std::conj(s[out][a]) * s[out][b] * flux[out] / std::sqrt(flux[a] * flux[b]);
        }
        EXPECT_NEAR(std::abs(product - (a == b ? 1.0 : 0.0)), 0, 1e-12) << a << " " << b;
        const double there = std::abs(s[a][b] * std::sqrt(flux[a] / flux[b]));
        const double back = std::abs(s[b][a] * std::sqrt(flux[b] / flux[a]));
        EXPECT_NEAR(there, back, 1e-12) << a << " " << b;
      }
    }
  }
}

TEST(Reflection, beyond_the_critical_angle_conserves_the_energy_of_waves_that_propagate) {
  const double theta = 65;
  const ScatteringMatrix s = zoeppritz_scattering(shale, sand, theta);
  const auto flux = fluxes(shale, sand, theta);
  double energy = 0;
  for (std::size_t out = 0; out < 4; ++out) {
    energy += std::norm(s[out][0]) * flux[out].real() / flux[0].real();
  }
  EXPECT_EQ(flux[2].real(), 0);
  EXPECT_NEAR(energy, 1, 1e-12);
  EXPECT_GT(std::abs(s[0][0].imag()), 0.1);
}

TEST(Reflection, closed_form_solves_the_equations) {
  for (double theta = 0; theta < 90; theta += 4.9) {
    for (const auto& [upper, lower] : {std::pair(shale, sand), std::pair(sand, shale)}) {
      EXPECT_NEAR(
          std::abs(zoeppritz_pp(upper, lower, theta) - approx_zoeppritz_pp(upper, lower, theta)), 0,
          1e-11)
          << theta;
    }
  }
}

TEST(Reflection, linearizations_are_exact_to_first_order) {
  for (const double theta : {5.0, 20.0, 35.0}) {
    // Halving the contrast divides an error of second order by 4.
    EXPECT_NEAR(error_of(aki_richards(theta, 0.5), 0, theta, 0.02) /
                    error_of(aki_richards(theta, 0.5), 0, theta, 0.01),
                4, 0.3);
    EXPECT_NEAR(error_of(ps(theta, 0.5), 1, theta, 0.02) / error_of(ps(theta, 0.5), 1, theta, 0.01),
                4, 0.3);
    EXPECT_LT(error_of(aki_richards(theta, 0.5), 0, theta, 0.01), 1e-4);
    EXPECT_LT(error_of(ps(theta, 0.5), 1, theta, 0.01), 1e-4);
  }
  EXPECT_EQ(ps(20, 0.5)[0], 0);
}

TEST(Reflection, fatti_is_aki_richards_in_impedances) {
  // Contrasts of impedances are those of velocity plus that of density.
  for (const double theta : {0.0, 15.0, 40.0}) {
    const auto a = aki_richards(theta, 0.55);
    const auto f = fatti(theta, 0.55);
    EXPECT_NEAR(f[0], a[0], 1e-14);
    EXPECT_NEAR(f[1], a[1], 1e-14);
    EXPECT_NEAR(f[0] + f[1] + f[2], a[2], 1e-14);
  }
}

TEST(Reflection, rejects_bad_arguments) {
  const auto expect_rejected = [](const std::string& words, const auto& call) {
    try {
      call();
      ADD_FAILURE() << "no error about " << words;
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_rejected("90", [] { zoeppritz_scattering(shale, sand, 90); });
  expect_rejected("-1", [] { aki_richards(-1, 0.5); });
  expect_rejected("nan", [&] { fatti(nan, 0.5); });
  expect_rejected("upper medium", [] { zoeppritz_pp({1500, 0, 1}, sand, 10); });
  expect_rejected("lower medium", [&] { approx_zoeppritz_pp(shale, {1500, 700, nan}, 10); });
  expect_rejected("no S wave", [] { ps(60, 1.3); });
}

}  // namespace weft::test
