#pragma once

// Everything a program needs.

#include <weft/array/arithmetic.hpp>
#include <weft/array/distributed_array.hpp>
#include <weft/array/halo_exchange.hpp>
#include <weft/array/layout.hpp>
#include <weft/array/random.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/comm/comm.hpp>
#include <weft/comm/group.hpp>
#include <weft/comm/launch.hpp>
#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>
#include <weft/op/blocks.hpp>
#include <weft/op/complex_parts.hpp>
#include <weft/op/dense_matrix.hpp>
#include <weft/op/derivative_kind.hpp>
#include <weft/op/diagonal.hpp>
#include <weft/op/dot_test.hpp>
#include <weft/op/first_derivative.hpp>
#include <weft/op/function_operator.hpp>
#include <weft/op/gradient.hpp>
#include <weft/op/halo.hpp>
#include <weft/op/identity.hpp>
#include <weft/op/laplacian.hpp>
#include <weft/op/linear_operator.hpp>
#include <weft/op/operator_algebra.hpp>
#include <weft/op/pad.hpp>
#include <weft/op/redistribute.hpp>
#include <weft/op/restriction.hpp>
#include <weft/op/second_derivative.hpp>
#include <weft/op/sum_along.hpp>
#include <weft/op/transpose_axes.hpp>
#include <weft/op/zero.hpp>
