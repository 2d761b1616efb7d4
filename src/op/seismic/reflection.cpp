#include <weft/op/seismic/reflection.hpp>

#include <weft/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace weft {
namespace {

using Amplitude = std::complex<double>;

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

void check_angle(double theta, const char* who) {
  require(theta >= 0 && theta < 90, "{}: angles must be from 0 to less than 90 degrees, got {}",
          who, theta);
}

void check_medium(const ElasticMedium& medium, const char* what, const char* who) {
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
  require(is_positive(medium.vp) && is_positive(medium.vs) && is_positive(medium.rho),
          "{}: vp, vs and rho of the {} medium must be positive and finite, got {}, {} and {}", who,
          what, medium.vp, medium.vs, medium.rho);
}

/// The quantities of Aki and Richards for a horizontal slowness p: cosines of the angles of P waves
/// (i1, i2) and S waves (j1, j2). Those of evanescent waves are imaginary and positive, so that
/// amplitudes decay away from the interface.
struct Angles {
  double p;
  Amplitude cos_i1;
  Amplitude cos_j1;
  Amplitude cos_i2;
  Amplitude cos_j2;

  Angles(const ElasticMedium& upper, const ElasticMedium& lower, double theta)
      : p(std::sin(radians(theta)) / upper.vp),
        cos_i1(cosine(upper.vp)),
        cos_j1(cosine(upper.vs)),
        cos_i2(cosine(lower.vp)),
        cos_j2(cosine(lower.vs)) {}

 private:
  Amplitude cosine(double velocity) const {
    return std::sqrt(Amplitude(1 - p * p * velocity * velocity));
  }
};

/// Solves A X = B by elimination with pivoting. B becomes X.
void solve(ScatteringMatrix& a, ScatteringMatrix& b) {
  for (std::size_t k = 0; k < 4; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < 4; ++row) {
      if (std::abs(a[row][k]) > std::abs(a[pivot][k])) pivot = row;
    }
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t row = 0; row < 4; ++row) {
      if (row == k) continue;
      const Amplitude factor = a[row][k] / a[k][k];
      for (std::size_t column = 0; column < 4; ++column) {
        a[row][column] -= factor * a[k][column];
        b[row][column] -= factor * b[k][column];
      }
    }
  }
  for (std::size_t row = 0; row < 4; ++row) {
    for (Amplitude& value : b[row]) value /= a[row][row];
  }
}

Angles checked_angles(const ElasticMedium& upper, const ElasticMedium& lower, double theta,
                      const char* who) {
  check_medium(upper, "upper", who);
  check_medium(lower, "lower", who);
  check_angle(theta, who);
  return {upper, lower, theta};
}

}  // namespace

ScatteringMatrix zoeppritz_scattering(const ElasticMedium& upper, const ElasticMedium& lower,
                                      double theta) {
  const Angles at = checked_angles(upper, lower, theta, "zoeppritz_scattering");
  const auto [a1, b1, r1] = upper;
  const auto [a2, b2, r2] = lower;
  const double p = at.p;
  const double s1 = r1 * b1 * (1 - 2 * b1 * b1 * p * p);
  const double s2 = r2 * b2 * (1 - 2 * b2 * b2 * p * p);
  const double p1 = s1 * a1 / b1;
  const double p2 = s2 * a2 / b2;
  const double m1 = 2 * r1 * b1 * b1 * p;
  const double m2 = 2 * r2 * b2 * b2 * p;
  const auto& [slowness, ci1, cj1, ci2, cj2] = at;
  // Continuity of horizontal and vertical displacement, and of shear and normal traction: the waves
  // that leave the interface on the left, those that arrive on the right.
  ScatteringMatrix outgoing = {{{-a1 * p, -cj1, a2 * p, cj2},
                                {ci1, -b1 * p, ci2, -b2 * p},
                                {m1 * ci1, s1, m2 * ci2, s2},
                                {-p1, m1 * cj1, p2, -m2 * cj2}}};
  ScatteringMatrix incident = {{{a1 * p, cj1, -a2 * p, -cj2},
                                {ci1, -b1 * p, ci2, -b2 * p},
                                {m1 * ci1, s1, m2 * ci2, s2},
                                {p1, -m1 * cj1, -p2, m2 * cj2}}};
  solve(outgoing, incident);
  return incident;
}

std::complex<double> zoeppritz_pp(const ElasticMedium& upper, const ElasticMedium& lower,
                                  double theta) {
  return zoeppritz_scattering(upper, lower, theta)[0][0];
}

std::complex<double> approx_zoeppritz_pp(const ElasticMedium& upper, const ElasticMedium& lower,
                                         double theta) {
  const Angles at = checked_angles(upper, lower, theta, "approx_zoeppritz_pp");
  const double p2 = at.p * at.p;
  const double shear1 = 2 * upper.rho * upper.vs * upper.vs;
  const double shear2 = 2 * lower.rho * lower.vs * lower.vs;
  // The vertical slownesses.
  const Amplitude ni1 = at.cos_i1 / upper.vp;
  const Amplitude nj1 = at.cos_j1 / upper.vs;
  const Amplitude ni2 = at.cos_i2 / lower.vp;
  const Amplitude nj2 = at.cos_j2 / lower.vs;
  // The letters of Aki and Richards.
  const double a = (lower.rho - shear2 * p2) - (upper.rho - shear1 * p2);
  const double b = (lower.rho - shear2 * p2) + shear1 * p2;
  const double c = (upper.rho - shear1 * p2) + shear2 * p2;
  const double d = shear2 - shear1;
  const Amplitude e = b * ni1 + c * ni2;
  const Amplitude f = b * nj1 + c * nj2;
  const Amplitude g = a - d * ni1 * nj2;
  const Amplitude h = a - d * ni2 * nj1;
  return ((b * ni1 - c * ni2) * f - (a + d * ni1 * nj2) * h * p2) / (e * f + g * h * p2);
}

std::vector<double> aki_richards(double theta, double vsvp) {
  check_angle(theta, "aki_richards");
  const double cosine = std::cos(radians(theta));
  const double sine = vsvp * std::sin(radians(theta));
  return {0.5 / (cosine * cosine), -4 * sine * sine, 0.5 - 2 * sine * sine};
}

std::vector<double> fatti(double theta, double vsvp) {
  check_angle(theta, "fatti");
  const double tangent = std::tan(radians(theta));
  const double sine = vsvp * std::sin(radians(theta));
  return {0.5 * (1 + tangent * tangent), -4 * sine * sine,
          2 * sine * sine - 0.5 * tangent * tangent};
}

std::vector<double> ps(double theta, double vsvp) {
  check_angle(theta, "ps");
  const double sine = std::sin(radians(theta));
  const double sine_s = vsvp * sine;  // of the angle of the S wave
  require(sine_s < 1, "ps: there is no S wave at {} degrees for vs / vp = {}", theta, vsvp);
  const double cosine_s = std::sqrt(1 - sine_s * sine_s);
  const double cosines = vsvp * std::cos(radians(theta)) * cosine_s;
  const double factor = 0.5 * sine / cosine_s;
  return {0, 4 * factor * (sine_s * sine_s - cosines),
          -factor * (1 - 2 * sine_s * sine_s + 2 * cosines)};
}

}  // namespace weft
