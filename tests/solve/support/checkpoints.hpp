#pragma once

// Solvers with checkpoints, and files that they reject.

#include <weft/core/error.hpp>
#include <weft/solve/cgls.hpp>

#include "io/folder.hpp"
#include "solve/support/variants.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace weft::test {

inline SolverOptions up_to(index_t iterations, const std::string& path = "") {
  SolverOptions options{.max_iterations = iterations, .relative_tolerance = 0};
  if (!path.empty()) options.checkpoint = {.path = path};
  return options;
}

/// A small problem with parameters.
struct Setting {
  index_t rows = 40;
  int operator_seed = 1;
  int data_seed = 3;
  double damp = 0.5;
  bool has_x0 = false;

  std::unique_ptr<Cgls<double, double>> make(const Comm& comm, const SolverOptions& options) const {
    const Layout layout = Layout::scatter(comm, {rows});
    CglsOptions<double> own{.damp = damp};
    if (has_x0) own.x0 = make_array<double>(layout, 8);
    return std::make_unique<Cgls<double, double>>(positive_operator<double>(layout, operator_seed),
                                                  make_array<double>(layout, data_seed), options,
                                                  own);
  }
};

/// Expects that all ranks reject the file and do not change it.
template <class Make>
void expect_refused(const std::string& path, const std::string& reason, Make make) {
  const std::string before = content_of(path);
  try {
    make();
    ADD_FAILURE() << "not rejected: " << reason;
  } catch (const AgreedError& error) {
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
  EXPECT_TRUE(before == content_of(path));
}

}  // namespace weft::test
