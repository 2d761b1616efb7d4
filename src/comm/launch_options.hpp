#pragma once

#include <weft/core/device.hpp>

#include <optional>
#include <string>

namespace weft::detail {

enum class CommChoice { automatic, self, thread, mpi };

/// What the user asked `launch` for.
struct LaunchOptions {
  std::optional<int> ranks;
  CommChoice comm = CommChoice::automatic;
  Device device;
  /// A GPU was asked for, but not which: each rank gets its own as far as there are enough.
  bool any_gpu = false;
  /// The text to be shown instead of running; empty unless --help was given.
  std::string help;
};

/// Whose --help it is.
enum class Help { of_launch, of_program };

/// Reads Weft's own options and takes them out of argv; all other arguments stay, in their order.
/// Throws ArgumentError, with argv as it was, if a value makes no sense.
LaunchOptions take_options(int& argc, char** argv, Help help);

}  // namespace weft::detail
