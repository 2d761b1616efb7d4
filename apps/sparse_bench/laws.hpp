#pragma once

// What docs/sparse-allreduce.md guarantees.

#include <weft/comm/comm.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weft::sparse_bench {

void add_to(std::vector<double>& sums, const std::vector<double>& numbers);

/// The largest difference over the elements between the sum of what all ranks have put in, and
/// results + the residuals of all ranks. Collective.
double conservation_error(const Comm& comm, std::vector<double> gradients,
                          const std::vector<double>& results, const std::vector<double>& residual);

/// Whether all ranks pass the same bytes. Collective.
bool same_on_all_ranks(const Comm& comm, const std::vector<std::byte>& bytes);

/// Whether conservation holds exactly for integers of any size: a dense allreduce rounds sums to 16
/// bits.
bool conserves(const std::string& algorithm, DType dtype);

}  // namespace weft::sparse_bench
