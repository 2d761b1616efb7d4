#pragma once

#include <weft/array/arithmetic.hpp>
#include <weft/array/random.hpp>
#include <weft/op/linear_operator.hpp>

#include "solve/vector_steps.hpp"

#include <cmath>
#include <cstdint>

namespace weft::detail {

/// That of AᴴA, by power iterations from a random start until it grows by less than a thousandth:
/// never too large, and rarely too small by more than a few percent. Collective.
template <Scalar D, Scalar R>
double largest_eigenvalue(const LinearOperator<D, R>& a) {
  constexpr int most = 50;
  constexpr double tolerance = 1e-3;
  const SumSpace space(a.domain());
  const SumSpace range(a.range());  // if it is common to groups of ranks, so is the result
  Scalars scalars(a.domain().device(), 1, {&space, &range});
  auto v = random_array<D>(a.domain(), 1);
  DistributedArray<R> u(a.range(), uninitialized);
  const auto size_of_v = [&] {
    double square = 0;
    sum_product(SumInto{scalars, space, 0}, v, v);
    scalars.finish(space, 0, 1);
    scalars.read({&square, 1});
    return std::sqrt(square);
  };

  double size = size_of_v();
  for (int k = 0; k < most; ++k) {
    const double last = size;
    if (size > 0) scale(static_cast<Real<D>>(1 / size), v);
    a.forward(v, u);
    a.adjoint(u, v);
    size = size_of_v();
    // Groups of ranks with problems of their own go on together: operators may need all of them.
    const bool grows = k == 0 || std::abs(size - last) > tolerance * size;
    if (a.domain().comm().allreduce(std::int32_t{grows}, ReduceOp::max) == 0) break;
  }
  return size;
}

}  // namespace weft::detail
