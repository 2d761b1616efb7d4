#pragma once

#include "inputs.hpp"
#include "measure.hpp"

namespace compare {

/// Times an operator, or with "direction": "adjoint" its adjoint, on noise.
template <weft::Scalar D, weft::Scalar R>
Timing time_apply(const Session& session, const nlohmann::json& options,
                  const weft::LinearOperator<D, R>& a) {
  weft::DistributedArray<D> x(a.domain());
  weft::DistributedArray<R> y(a.range());
  const bool is_adjoint = options.value("direction", "forward") == "adjoint";
  if (is_adjoint) {
    fill_noise(y, 1);
  } else {
    fill_noise(x, 1);
  }
  const Timing timing = session.time([&] {
    if (is_adjoint) {
      a.adjoint(y, x);
    } else {
      a.forward(x, y);
    }
  });
  if (is_adjoint) {
    session.answer(x);
  } else {
    session.answer(y);
  }
  return timing;
}

}  // namespace compare
