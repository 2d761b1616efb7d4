#pragma once

// Modified checkpoints with correct checksums.

#include <optional>
#include <string>
#include <vector>

namespace weft::test {

/// The parts of a checkpoint: the lines of its header after the first, and the data.
struct CheckpointImage {
  std::vector<std::string> lines;
  std::string body;

  /// The first line that begins with this word.
  std::string& line(const std::string& word);
};

/// Empty if the bytes do not look like a checkpoint.
std::optional<CheckpointImage> take_apart(const std::string& file);

/// The file with correct lengths and checksums. If the header does not describe the body
/// consistently, the checksum of the body is not changed.
std::string sealed(CheckpointImage image);

}  // namespace weft::test
