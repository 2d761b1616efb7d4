#pragma once

#include <weft/comm/comm.hpp>

#include <string>

namespace weft::app {

/// The kinds of files that an output may replace.
enum class Target {
  /// A regular file, or a new one.
  regular_file,
  /// Anything that can be written to, such as /dev/stdout.
  anything,
};

/// Checks on rank 0 that a file can be written, and leaves the file system as it was. Collective:
/// all ranks throw if it cannot.
void require_writable(const Comm& world, const std::string& path, Target target);

/// Writes `text` to `path` on rank 0. Collective: all ranks throw if that fails.
void write_file(const Comm& world, const std::string& path, const std::string& text);

}  // namespace weft::app
