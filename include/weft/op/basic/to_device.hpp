#pragma once

#include <weft/op/linear_operator.hpp>

namespace weft {

/// y = x in memory of another device: the domain is `layout`, the range layout.on(device). A
/// product can thus run each factor where its data fits. The adjoint is the inverse. No
/// communication; copies to the host wait until they are complete. The first application that
/// scales or adds allocates a work array.
template <Scalar T>
LinearOperator<T> to_device(const Layout& layout, Device device);

}  // namespace weft
