#pragma once

#include <weft/comm/comm.hpp>

#include <string>

namespace weft::app {

/// What may be at the path of an output file.
enum class Target {
  /// Nothing or a regular file, which is replaced.
  regular_file,
  /// Anything that can be written to, such as /dev/stdout.
  anything,
};

/// Checks on rank 0 that a file can be written, before the work whose result goes there, and leaves
/// the file system as it is. Collective: all ranks throw if it cannot.
void require_writable(const Comm& world, const std::string& path, Target target);

/// Writes `text` to `path` on rank 0. Collective: all ranks throw if that fails.
void write_file(const Comm& world, const std::string& path, const std::string& text);

}  // namespace weft::app
