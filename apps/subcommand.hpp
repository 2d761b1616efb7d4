#pragma once

#include <weft/comm/comm.hpp>

#include <memory>

namespace CLI {
class App;
}

namespace weft::app {

/// A subcommand of the program weft.
class Subcommand {
 public:
  Subcommand() = default;
  Subcommand(const Subcommand&) = delete;
  Subcommand& operator=(const Subcommand&) = delete;
  virtual ~Subcommand() = default;

  /// Adds the subcommand and its options to `weft`, and returns it.
  virtual CLI::App* declare(CLI::App& weft) = 0;
  /// Checks the options before ranks are started. Throws ArgumentError.
  virtual void check() {}
  /// Runs on every rank and returns the exit code.
  virtual int run(const Comm& world) const = 0;
};

std::unique_ptr<Subcommand> make_bench();
std::unique_ptr<Subcommand> make_demo();
std::unique_ptr<Subcommand> make_info();
std::unique_ptr<Subcommand> make_selftest();
std::unique_ptr<Subcommand> make_sparse_bench();

}  // namespace weft::app
