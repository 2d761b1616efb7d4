#pragma once

// Linear operators.

#include <weft/op/algebra/blocks.hpp>
#include <weft/op/algebra/function_operator.hpp>
#include <weft/op/algebra/operator_algebra.hpp>
#include <weft/op/basic/complex_parts.hpp>
#include <weft/op/basic/diagonal.hpp>
#include <weft/op/basic/flip.hpp>
#include <weft/op/basic/halo.hpp>
#include <weft/op/basic/identity.hpp>
#include <weft/op/basic/pad.hpp>
#include <weft/op/basic/redistribute.hpp>
#include <weft/op/basic/regression.hpp>
#include <weft/op/basic/restriction.hpp>
#include <weft/op/basic/roll.hpp>
#include <weft/op/basic/sum_along.hpp>
#include <weft/op/basic/symmetrize.hpp>
#include <weft/op/basic/transpose_axes.hpp>
#include <weft/op/basic/zero.hpp>
#include <weft/op/convolution/convolve1d.hpp>
#include <weft/op/convolution/non_stationary_convolve1d.hpp>
#include <weft/op/convolution/smoothing.hpp>
#include <weft/op/curves/spread.hpp>
#include <weft/op/dense_matrix.hpp>
#include <weft/op/dot_test.hpp>
#include <weft/op/fourier/fft.hpp>
#include <weft/op/integral/causal_integration.hpp>
#include <weft/op/integral/fredholm1.hpp>
#include <weft/op/integral/mdc.hpp>
#include <weft/op/linear_operator.hpp>
#include <weft/op/matrix/matrix_mult.hpp>
#include <weft/op/stencil/derivative_kind.hpp>
#include <weft/op/stencil/first_derivative.hpp>
#include <weft/op/stencil/gradient.hpp>
#include <weft/op/stencil/laplacian.hpp>
#include <weft/op/stencil/second_derivative.hpp>
