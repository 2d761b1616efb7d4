#pragma once

// The first part of a checkpoint: a text that says what is in the rest of it, and of which problem.

#include <weft/core/dtype.hpp>
#include <weft/core/error.hpp>
#include <weft/core/shape.hpp>

#include "io/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// A number by which a problem is recognised, if it is the same up to a tolerance.
struct Fact {
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
  std::uint64_t dealing = 0;
  index_t history_length = 0;
  std::vector<Integer> integers;
  std::vector<Array> arrays;
  std::vector<Numbers> numbers;
  std::vector<Fact> facts;
  /// Of what comes behind the header.
  std::uint64_t checksum = 0;

  /// As it is written to a file. Its length does not depend on the checksum.
  std::string text() const;
  /// Where things are, in bytes behind the header.
  index_t array_offset(std::size_t index) const;
  index_t numbers_offset(std::size_t index) const;
  index_t history_offset() const;
  index_t data_bytes() const;
};

/// Bytes of a header: enough for stacks of a hundred thousand arrays.
inline constexpr index_t longest_checkpoint_text = index_t{1} << 24;
/// An entry of the history, as numbers in the file.
inline constexpr index_t numbers_per_status = 4;
inline constexpr index_t bytes_per_status = numbers_per_status * index_t{sizeof(double)};

/// Reads the header of a file and `text_bytes`, where what comes behind it begins. Throws if the
/// file is not a complete checkpoint. Whoever has written it: the header is one that text() makes,
/// and everything it speaks of lies in the file.
CheckpointHeader read_checkpoint_header(const File& file, index_t& text_bytes);

Error damaged_checkpoint(const std::string& path, std::string_view what);

/// What tells a checkpoint from one that could be made here; empty if nothing does. Then both have
/// the same arrays, numbers and counters, and blocks of numbers of the same size if arrays are
/// dealt out in the same way.
std::string difference(const CheckpointHeader& there, const CheckpointHeader& here);

}  // namespace weft::detail
