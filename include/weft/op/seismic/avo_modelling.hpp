#pragma once

#include <weft/op/linear_operator.hpp>
#include <weft/op/seismic/reflection.hpp>

#include <functional>
#include <vector>

namespace weft {

/// The coefficients of the parameters in a reflection at an angle in degrees, for a ratio of vs to
/// vp: aki_richards, fatti, ps or a function of the caller.
using AvoLinearization = std::function<std::vector<double>(double theta, double vsvp)>;

struct AvoModellingOptions {
  /// The ratio of vs to vp: one for all samples, or one per sample.
  std::vector<double> vsvp = {0.5};
  AvoLinearization linearization = aki_richards;
};

/// Linearized amplitude versus offset: y[t, a, ..] = sum over j of g(theta[a], vsvp[t])[j] x[t, j,
/// ..], where g is the linearization. PyLops: AVOLinearModelling.
///
/// The model has the axes (samples, parameters, ...), the data (samples, angles, ...). All ranks
/// pass the same angles, in degrees, and options. The parameters must not be distributed, all other
/// axes may be. No communication.
template <Scalar T>
LinearOperator<T> avo_modelling(const Layout& layout, const std::vector<double>& theta,
                                const AvoModellingOptions& options = {});

}  // namespace weft
