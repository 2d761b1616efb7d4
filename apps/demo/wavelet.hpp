#pragma once

#include <weft/array/distributed_array.hpp>

#include <vector>

namespace weft::app {

/// A Ricker wavelet of 2 half + 1 samples with its peak in the middle. `frequency` is the peak
/// frequency in cycles per sample.
std::vector<double> ricker(index_t half, double frequency);

/// Adds noise whose root mean square is `part` of that of the data.
void add_noise(DistributedArray<double>& data, double part);

}  // namespace weft::app
