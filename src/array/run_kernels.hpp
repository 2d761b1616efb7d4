#pragma once

#include <weft/core/shape.hpp>

namespace weft::kernels {

/// to[to_at[r] + i] = alpha from[from_at[r] + i] + beta to[to_at[r] + i] for the `count` runs r and
/// i < lengths[r] <= longest. With beta = 0, `to` is not read; with alpha = 1 as well, elements are
/// copied bit by bit. Runs must not overlap in `to`.
template <class Device, class T>
void axpby_runs(Device device, index_t count, index_t longest, const index_t* from_at,
                const index_t* to_at, const index_t* lengths, T alpha, const T* from, T beta,
                T* to);

}  // namespace weft::kernels
