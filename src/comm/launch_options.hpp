#pragma once

#include <weft/core/device.hpp>

#include <optional>
#include <string>

namespace weft::detail {

enum class CommChoice { automatic, self, thread, mpi };

/// The command-line options of launch.
struct LaunchOptions {
  std::optional<int> ranks;
  CommChoice comm = CommChoice::automatic;
  /// --comm fast: GPU memory must take the route "fast"; the transport is chosen as with auto.
  bool fast_route = false;
  Device device;
  /// --device cuda without a number: ranks take the GPUs of their host in turn.
  bool any_gpu = false;
  /// The text to print instead of running; empty without --help.
  std::string help;
};

/// Who handles --help.
enum class Help { of_launch, of_program };

/// Parses the options of Weft and removes them from argv; other arguments stay, in their order.
/// Throws ArgumentError, with argv unchanged, if a value is invalid.
LaunchOptions take_options(int& argc, char** argv, Help help);

}  // namespace weft::detail
