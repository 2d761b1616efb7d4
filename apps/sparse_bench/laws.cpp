#include "sparse_bench/laws.hpp"

#include "core/hash.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace weft::sparse_bench {

void add_to(std::vector<double>& sums, const std::vector<double>& numbers) {
  std::transform(sums.begin(), sums.end(), numbers.begin(), sums.begin(), std::plus<>());
}

double conservation_error(const Comm& comm, std::vector<double> gradients,
                          const std::vector<double>& results, const std::vector<double>& residual) {
  std::transform(gradients.begin(), gradients.end(), residual.begin(), gradients.begin(),
                 std::minus<>());
  comm.allreduce(gradients);
  double error = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double difference = std::abs(gradients[i] - results[i]);
    // NaN counts
    error = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                   : std::max(error, difference);
  }
  return comm.allreduce(error, ReduceOp::max);
}

bool same_on_all_ranks(const Comm& comm, const std::vector<std::byte>& bytes) {
  detail::Hash hash;
  for (const std::byte byte : bytes) hash.add(static_cast<int>(byte));
  const std::uint64_t mine = hash.value();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(ConstBufferRef(&mine, 1), all);
  return std::all_of(all.begin(), all.end(), [&](std::uint64_t each) { return each == all[0]; });
}

bool conserves(const std::string& algorithm, DType dtype) {
  return algorithm != "dense" || size_of(dtype) > 2;
}

}  // namespace weft::sparse_bench
