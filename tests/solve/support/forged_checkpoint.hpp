#pragma once

// Checkpoints that somebody has changed, with checksums that are right nevertheless.

#include <optional>
#include <string>
#include <vector>

namespace weft::test {

/// A checkpoint in parts: the lines of its header behind the first, and what follows the header.
struct CheckpointImage {
  std::vector<std::string> lines;
  std::string body;

  /// The first line that begins with a word.
  std::string& line(const std::string& word);
};

/// Nothing if the bytes do not even look like a checkpoint.
std::optional<CheckpointImage> take_apart(const std::string& file);

/// The file with the right lengths and checksums. That of the body is computed as far as the header
/// tells where things are; if that makes no sense, it is left as it is.
std::string sealed(CheckpointImage image);

}  // namespace weft::test
