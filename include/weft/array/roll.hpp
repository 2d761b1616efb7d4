#pragma once

#include <weft/array/distributed_array.hpp>

namespace weft {

/// y[.., (i + shift) mod n, ..] = x[.., i, ..] along an axis, as in numpy.roll. One all_to_all
/// among the ranks of a group if the axis is distributed, otherwise no message.
template <Scalar T>
DistributedArray<T> roll(const ConstArrayView<T>& x, index_t shift, int axis);

}  // namespace weft
