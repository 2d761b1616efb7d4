#pragma once

// The header of a checkpoint file: a text that describes the data after it, and identifies the
// problem.

#include <weft/core/dtype.hpp>
#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>

#include "io/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// A number that identifies a problem, up to a tolerance.
struct Property {
  std::string name;
  double value = 0;
  double tolerance = 0;
};

struct CheckpointHeader {
  struct Array {
    std::string name;
    std::string dtype;
    Shape shape;
    index_t element = 0;  // bytes
  };
  /// A block of numbers for each rank.
  struct Numbers {
    std::string name;
    index_t bytes = 0;
  };
  struct Integer {
    std::string name;
    index_t value = 0;
  };

  std::string solver;
  index_t ranks = 0;
  std::uint64_t partition = 0;  // partition_hash() of the arrays
  index_t history_length = 0;
  std::vector<Integer> integers;
  std::vector<Array> arrays;
  std::vector<Numbers> numbers;
  std::vector<Property> properties;
  /// Of the data after the header.
  std::uint64_t checksum = 0;

  /// The text in the file. Its length does not depend on the checksum.
  std::string text() const;
  /// Offsets in bytes from the end of the header.
  index_t array_offset(std::size_t index) const;
  index_t numbers_offset(std::size_t index) const;
  index_t history_offset() const;
  index_t data_bytes() const;
};

/// The limit on the size of a header in bytes: enough for stacks of a hundred thousand arrays.
inline constexpr index_t max_checkpoint_text = index_t{1} << 24;
/// Numbers in the file per entry of the history.
inline constexpr index_t numbers_per_status = 4;
inline constexpr index_t bytes_per_status = numbers_per_status * index_t{sizeof(double)};

/// Reads the header of a file and its size, `text_bytes`. Throws if the file is not a complete
/// checkpoint. The file is not trusted: afterwards, the header is one that text() can produce, and
/// all data that it describes are in the file.
CheckpointHeader read_checkpoint_header(const File& file, index_t& text_bytes);

Error damaged_checkpoint(const std::string& path, std::string_view what);

/// Describes the first difference between a saved problem and the one at hand; empty if there is
/// none. Then both have the same arrays, numbers and counters, and, if the partition is the same,
/// blocks of numbers of the same size.
std::string difference(const CheckpointHeader& saved, const CheckpointHeader& current);

}  // namespace weft::detail
