#pragma once

#include <weft/op/basic/diagonal.hpp>
#include <weft/solve/cgls.hpp>

#include <memory>
#include <string>

namespace weft::faults {

/// The solver whose checkpoints are fuzzed. A change of its problem makes the corpus useless:
/// weft_checkpoint_seeds makes a new one.
inline std::unique_ptr<Cgls<double, double>> make_fuzzed_solver(const std::string& path,
                                                                index_t iterations) {
  const Layout layout = Layout::scatter(Comm::self(), {3});
  DistributedArray<double> d(layout);
  d.fill([](const Index& at) { return static_cast<double>(at[0] + 1); });
  DistributedArray<double> y(layout);
  y.fill([](const Index& at) { return static_cast<double>(2 * at[0] - 1); });
  SolverOptions options{.max_iterations = iterations, .relative_tolerance = 0};
  options.checkpoint = CheckpointOptions{.path = path, .every_iterations = 1};
  return std::make_unique<Cgls<double, double>>(diagonal(d), y, options,
                                                CglsOptions<double>{.damp = 0.5});
}

}  // namespace weft::faults
