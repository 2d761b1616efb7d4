#pragma once

// Reflection and transmission of plane waves at an interface between two elastic half-spaces (Aki
// and Richards, Quantitative Seismology, chapter 5). Angles are in degrees from the normal,
// amplitudes are those of displacement.

#include <array>
#include <complex>
#include <vector>

namespace weft {

/// An isotropic elastic medium: velocities of P and S waves, which are positive, and density.
struct ElasticMedium {
  double vp;
  double vs;
  double rho;
};

/// Amplitudes [outgoing wave][incident wave]. Outgoing: P and S upwards in the upper medium, P and
/// S downwards in the lower one. Incident: P and S downwards in the upper medium, P and S upwards
/// in the lower one.
using ScatteringMatrix = std::array<std::array<std::complex<double>, 4>, 4>;

/// The solution of the Zoeppritz equations for the horizontal slowness of a P wave in the upper
/// medium at an angle of incidence from 0 to less than 90. Beyond a critical angle amplitudes are
/// complex. PyLops: zoeppritz_scattering.
ScatteringMatrix zoeppritz_scattering(const ElasticMedium& upper, const ElasticMedium& lower,
                                      double theta);
/// The reflection coefficient of P waves, element [0][0] of the scattering matrix. PyLops:
/// zoeppritz_pp.
std::complex<double> zoeppritz_pp(const ElasticMedium& upper, const ElasticMedium& lower,
                                  double theta);
/// The same by its closed form, without solving the equations. PyLops: approx_zoeppritz_pp.
std::complex<double> approx_zoeppritz_pp(const ElasticMedium& upper, const ElasticMedium& lower,
                                         double theta);

// Linearizations for small contrasts: the coefficients of the relative contrasts of parameters, for
// an angle of less than 90 and the ratio of vs to vp, both means over the two media.

/// Of the reflection of P waves, for contrasts of vp, vs and rho. PyLops: akirichards.
std::vector<double> aki_richards(double theta, double vsvp);
/// The same for contrasts of the impedances rho vp and rho vs, and of rho. PyLops: fatti.
std::vector<double> fatti(double theta, double vsvp);
/// Of the reflection of P waves as S waves, for contrasts of vp, vs and rho; the first is 0.
/// PyLops: ps.
std::vector<double> ps(double theta, double vsvp);

}  // namespace weft
