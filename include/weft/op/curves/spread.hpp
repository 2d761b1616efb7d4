#pragma once

#include <weft/op/linear_operator.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace weft {

/// What a position between two samples of a column means.
enum class CurveInterpolation : std::uint8_t {
  nearest,  // the nearest sample
  linear,   // both samples, weighted by their distances; at whole positions the same as nearest
};

struct SpreadOptions {
  CurveInterpolation interpolation = CurveInterpolation::linear;
  /// Call the function in every application instead of keeping its values in a table. For arrays of
  /// the CPU only.
  bool on_the_fly = false;
};

/// The position along the last axis of the range where the curve of model sample (ix0, it0) crosses
/// column ix. May be called by several threads at once.
using SpreadFunction = std::function<double(index_t ix0, index_t it0, index_t ix)>;

/// Spreads each sample of a model (nx0, nt0) along a curve through data (nx, nt): y[ix, it] = sum
/// of x[ix0, it0] over the curves that cross column ix at it. Curves are outside a column where
/// their position is negative, greater than nt - 1, or NaN. The adjoint sums y along the curves, in
/// double precision. PyLops: Spread.
///
/// The model has a copy on every rank; the data may be distributed along axis 0, or be copies as
/// well. Other layouts are errors: redistribute arrays first. A rank keeps the part of the table
/// that belongs to its columns. Communication: none forward, one allreduce for the adjoint if the
/// data are distributed. Threads share columns forward and model samples for the adjoint; results
/// do not depend on their number.
template <Scalar T>
LinearOperator<T> spread(const Layout& domain, const Layout& range, const SpreadFunction& positions,
                         const SpreadOptions& options = {});

/// The same with positions from a table [nx0, nt0, nx], which all ranks pass.
template <Scalar T>
LinearOperator<T> spread(const Layout& domain, const Layout& range, std::span<const double> table,
                         const SpreadOptions& options = {});
template <Scalar T>
LinearOperator<T> spread(const Layout& domain, const Layout& range, std::span<const index_t> table,
                         const SpreadOptions& options = {});

}  // namespace weft
