#pragma once

#include <weft/array/layout.hpp>
#include <weft/core/dtype.hpp>

#include "array/flat_exchange.hpp"

namespace weft::detail {

/// Throw unless an array can be reshaped, or relabelled, from one layout to the other. All ranks
/// throw the same error.
void check_reshape(const Layout& from, const Layout& to);
void check_relabel(const Layout& from, const Layout& to);

/// Compares the arguments of a reshape between ranks, and checks them. Collective.
void agree_on_reshape(const Layout& from, const Layout& to, DType dtype);

/// The exchange of a reshape. Collective; callers compare the layouts between ranks.
template <Scalar T>
FlatExchange<T> reshape_plan(const Layout& from, const Layout& to);

}  // namespace weft::detail
