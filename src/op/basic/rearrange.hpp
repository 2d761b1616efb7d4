#pragma once

// Copies of runs of elements along axes: shifts, truncation and zero padding of Fourier transforms
// (fourier/fft.cpp).

#include <weft/op/linear_operator.hpp>

#include <vector>

namespace weft::detail {

/// `extent` consecutive elements along an axis, copied from position `from` to position `to`.
struct Run {
  index_t from;
  index_t to;
  index_t extent;
};

/// The runs of y[j] = x[(j + shift) mod n] for j < min(n, m), where x has n elements and y has m.
std::vector<Run> rotation(index_t n, index_t shift, index_t m);

/// Copies runs[axis] along every axis; elements that no run covers are zero. Axes without runs are
/// unchanged. Axes with runs are not distributed in either layout. No communication.
template <Scalar T>
LinearOperator<T> rearrange(const Layout& domain, const Layout& range,
                            const std::vector<std::vector<Run>>& runs);

}  // namespace weft::detail
