#pragma once

#include <weft/array/distributed_array.hpp>

#include <vector>

namespace weft::app {

/// The second derivative of a bell curve, at 2 half + 1 samples around its middle. The frequency is
/// that of its strongest part, in cycles per sample.
std::vector<double> ricker(index_t half, double frequency);

/// Adds numbers that have `part` of the root mean square of the data.
void add_noise(DistributedArray<double>& data, double part);

}  // namespace weft::app
