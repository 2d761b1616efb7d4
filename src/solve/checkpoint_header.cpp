#include "solve/checkpoint_header.hpp"

#include <weft/core/error.hpp>

#include "core/hash.hpp"
#include "core/printable.hpp"
#include "solve/solver_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace weft::detail {
namespace {

constexpr std::string_view checkpoint_magic = "weft checkpoint ";
constexpr std::string_view version = "1";
// The first line: the magic and the version, then the length and the checksum of the following
// text.
constexpr index_t first_line_bytes = 16 + 2 + 16 + 1 + 16 + 1;
// The history follows arrays of any type.
constexpr index_t alignment = 8;

index_t aligned(index_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::string hex(std::uint64_t number) { return fmt::format("{:016x}", number); }
std::string hex(double number) { return hex(std::bit_cast<std::uint64_t>(number)); }

std::uint64_t text_checksum(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum = mix_checksum_bits(sum + 1 + static_cast<unsigned char>(c));
  return sum;
}

/// Parses a line. Fields that cannot be read become 0 or empty; read_checkpoint_header() detects
/// that.
class Line {
 public:
  explicit Line(const std::string& text) : words_(text) { words_ >> key_; }

  const std::string& key() const { return key_; }
  index_t integer() {
    index_t value = 0;
    words_ >> std::dec >> value;
    return value;
  }
  std::uint64_t bits() {
    std::uint64_t value = 0;
    words_ >> std::hex >> value;
    return value;
  }
  double real() { return std::bit_cast<double>(bits()); }
  std::string word() {
    std::string value;
    words_ >> value;
    return value;
  }
  std::string rest() {
    std::string value;
    std::getline(words_ >> std::ws, value);
    return value;
  }

 private:
  std::istringstream words_;
  std::string key_;
};

CheckpointHeader::Array read_array(Line& line) {
  CheckpointHeader::Array array;
  array.dtype = line.word();
  array.element = line.integer();
  Index extents =
      Index::filled(static_cast<int>(std::clamp<index_t>(line.integer(), 0, max_dims)), 0);
  for (int axis = 0; axis < extents.ndim(); ++axis) extents[axis] = line.integer();
  array.shape = Shape(extents);
  array.name = line.rest();
  return array;
}

CheckpointHeader parse(const std::string& text) {
  CheckpointHeader header;
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) {
    Line line(one);
    if (line.key() == "solver") header.solver = line.rest();
    if (line.key() == "ranks") header.ranks = line.integer();
    if (line.key() == "partition") header.partition = line.bits();
    if (line.key() == "history") header.history_length = line.integer();
    if (line.key() == "checksum") header.checksum = line.bits();
    if (line.key() == "array") header.arrays.push_back(read_array(line));
    if (line.key() == "numbers") {
      const index_t bytes = line.integer();
      header.numbers.push_back({line.rest(), bytes});
    }
    if (line.key() == "integer") {
      const index_t value = line.integer();
      header.integers.push_back({line.rest(), value});
    }
    if (line.key() == "property") {
      const double value = line.real();
      const double tolerance = line.real();
      header.properties.push_back({line.rest(), value, tolerance});
    }
  }
  return header;
}

/// A sum of products that detects overflow of 64 bits.
class ByteCount {
 public:
  void add(index_t count, index_t bytes) {
    index_t product = 0;
    overflow_ = overflow_ || __builtin_mul_overflow(count, bytes, &product) ||
                __builtin_add_overflow(product, alignment - 1, &product) ||
                __builtin_add_overflow(total_, product / alignment * alignment, &total_);
  }
  std::optional<index_t> total() const { return overflow_ ? std::nullopt : std::optional(total_); }

 private:
  index_t total_ = 0;
  bool overflow_ = false;
};

/// data_bytes() of an untrusted header; empty on overflow of 64 bits.
std::optional<index_t> checked_data_bytes(const CheckpointHeader& header) {
  ByteCount bytes;
  for (const auto& array : header.arrays) bytes.add(array.shape.count(), array.element);
  for (const auto& numbers : header.numbers) bytes.add(header.ranks, numbers.bytes);
  bytes.add(header.history_length, bytes_per_status);
  return bytes.total();
}

/// Describes a field with an impossible value; empty if there is none.
std::string impossible_field(const CheckpointHeader& header) {
  constexpr index_t largest_element = 16;
  constexpr index_t word = sizeof(double);
  if (header.ranks < 1 || header.ranks > std::numeric_limits<int>::max())
    return fmt::format("it was written by {} ranks", header.ranks);
  if (header.history_length < 1)
    return fmt::format("its history has {} entries", header.history_length);
  for (const auto& array : header.arrays) {
    if (array.element < 1 || array.element > largest_element)
      return fmt::format("elements of an array have {} bytes", array.element);
  }
  for (const auto& numbers : header.numbers) {
    if (numbers.bytes < word || numbers.bytes % word != 0)
      return fmt::format("each rank has {} bytes of numbers", numbers.bytes);
  }
  for (const auto& integer : header.integers) {
    if (integer.value < 0) return fmt::format("a counter is {}", integer.value);
  }
  return {};
}

std::string describe(const CheckpointHeader::Array& array) {
  return fmt::format("{} ({} of {})", printable(array.name), printable(array.dtype),
                     to_string(array.shape));
}

template <class Named>
std::string describe(const Named& one) {
  return printable(one.name);
}

bool is_same(const CheckpointHeader::Array& a, const CheckpointHeader::Array& b) {
  return a.name == b.name && a.dtype == b.dtype && a.element == b.element && a.shape == b.shape;
}

template <class Named>
bool is_same(const Named& a, const Named& b) {
  return a.name == b.name;
}

/// Describes the first pair of items that differ; empty if all are the same.
template <class Item>
std::string first_difference(std::string_view what, const std::vector<Item>& saved,
                             const std::vector<Item>& current) {
  for (std::size_t i = 0; i < std::max(saved.size(), current.size()); ++i) {
    const auto at = [i](const std::vector<Item>& all) {
      return i < all.size() ? describe(all[i]) : std::string("missing");
    };
    const bool same = i < saved.size() && i < current.size() && is_same(saved[i], current[i]);
    if (!same) {
      return fmt::format("{} {} was {} in the checkpoint and is {} now", what, i + 1, at(saved),
                         at(current));
    }
  }
  return {};
}

}  // namespace

std::string CheckpointHeader::text() const {
  std::string lines = fmt::format("solver {}\nranks {}\npartition {}\nhistory {}\nchecksum {}\n",
                                  solver, ranks, hex(partition), history_length, hex(checksum));
  for (const Integer& integer : integers)
    lines += fmt::format("integer {} {}\n", integer.value, integer.name);
  for (const Array& array : arrays) {
    lines += fmt::format("array {} {} {}", array.dtype, array.element, array.shape.ndim());
    for (const index_t extent : array.shape) lines += fmt::format(" {}", extent);
    lines += fmt::format(" {}\n", array.name);
  }
  for (const Numbers& one : numbers) lines += fmt::format("numbers {} {}\n", one.bytes, one.name);
  for (const Property& property : properties) {
    lines += fmt::format("property {} {} {}\n", hex(property.value), hex(property.tolerance),
                         property.name);
  }
  return fmt::format("{}{} {} {}\n{}", checkpoint_magic, version, hex(lines.size()),
                     hex(text_checksum(lines)), lines);
}

index_t CheckpointHeader::array_offset(std::size_t index) const {
  index_t offset = 0;
  for (std::size_t i = 0; i < index; ++i)
    offset += aligned(arrays[i].shape.count() * arrays[i].element);
  return offset;
}

index_t CheckpointHeader::numbers_offset(std::size_t index) const {
  index_t offset = array_offset(arrays.size());
  for (std::size_t i = 0; i < index; ++i) offset += aligned(ranks * numbers[i].bytes);
  return offset;
}

index_t CheckpointHeader::history_offset() const { return numbers_offset(numbers.size()); }

index_t CheckpointHeader::data_bytes() const {
  return history_offset() + history_length * bytes_per_status;
}

Error damaged_checkpoint(const std::string& path, std::string_view what) {
  return Error(fmt::format(
      "the checkpoint '{}' is damaged: {}; remove it to start anew, or put an older copy there",
      path, what));
}

CheckpointHeader read_checkpoint_header(const File& file, index_t& text_bytes) {
  const std::string& path = file.path();
  const index_t size = file.size();
  std::string first(static_cast<std::size_t>(std::min(size, first_line_bytes)), '\0');
  file.read(first.data(), static_cast<index_t>(first.size()), 0);
  if (!first.starts_with(checkpoint_magic)) {
    throw Error(fmt::format(
        "'{}' is not a checkpoint; remove it, or use another path for checkpoints", path));
  }
  Line line(first.substr(checkpoint_magic.size()));
  if (line.key() != version) {
    throw Error(fmt::format(
        "the checkpoint '{}' has format {}, but this version of Weft reads format {}; use the "
        "version that wrote it, or remove it",
        path, printable(line.key()), version));
  }
  const std::uint64_t lines_bytes = line.bits();
  const std::uint64_t checksum = line.bits();
  if (size < first_line_bytes || lines_bytes > static_cast<std::uint64_t>(size - first_line_bytes))
    throw damaged_checkpoint(path, fmt::format("it ends after {} bytes, in its header", size));
  if (lines_bytes > static_cast<std::uint64_t>(max_checkpoint_text))
    throw damaged_checkpoint(path, fmt::format("its header has {} bytes", lines_bytes));
  std::string lines(lines_bytes, '\0');
  file.read(lines.data(), static_cast<index_t>(lines_bytes), first_line_bytes);
  if (text_checksum(lines) != checksum)
    throw damaged_checkpoint(path, "the checksum of its header is wrong");

  // The checksum only detects accidents; the fields are still untrusted.
  CheckpointHeader header;
  try {
    header = parse(lines);
  } catch (const ArgumentError& error) {
    throw damaged_checkpoint(path, error.what());
  }
  if (header.text() != first + lines)
    throw damaged_checkpoint(path, "its header does not have the format that Weft writes");
  if (const std::string what = impossible_field(header); !what.empty())
    throw damaged_checkpoint(path, what);
  text_bytes = first_line_bytes + static_cast<index_t>(lines_bytes);
  const std::optional<index_t> data_bytes = checked_data_bytes(header);
  if (!data_bytes || *data_bytes != size - text_bytes) {
    throw damaged_checkpoint(
        path, fmt::format("it has {} bytes, but its header describes {}", size,
                          data_bytes ? std::to_string(text_bytes + *data_bytes) : "far more"));
  }
  return header;
}

std::string difference(const CheckpointHeader& saved, const CheckpointHeader& current) {
  if (saved.solver != current.solver)
    return fmt::format("its solver is {}, and this one is {}", printable(saved.solver),
                       current.solver);
  for (const std::string& what :
       {first_difference("array", saved.arrays, current.arrays),
        first_difference("block of numbers", saved.numbers, current.numbers),
        first_difference("counter", saved.integers, current.integers),
        first_difference("property", saved.properties, current.properties)}) {
    if (!what.empty()) return what;
  }
  for (std::size_t i = 0; i < saved.properties.size(); ++i) {
    const Property& theirs = saved.properties[i];
    const Property& ours = current.properties[i];
    // Norms that are equal up to a tolerance have nearly the same tolerance. The saved one is
    // untrusted.
    const double tolerance =
        std::min(std::max(theirs.tolerance, ours.tolerance), 2 * ours.tolerance);
    if (std::abs(theirs.value - ours.value) <= tolerance) continue;
    return fmt::format("{} was {:.9g} in the checkpoint and is {:.9g} now", ours.name, theirs.value,
                       ours.value);
  }
  // The same partition implies the same ranks and the same partial sums.
  if (saved.partition != current.partition) return {};
  if (saved.ranks != current.ranks)
    return fmt::format("it was saved by {} ranks, and there are {} now", saved.ranks,
                       current.ranks);
  for (std::size_t i = 0; i < saved.numbers.size(); ++i) {
    if (saved.numbers[i].bytes == current.numbers[i].bytes) continue;
    return fmt::format("{} had {} bytes on each rank in the checkpoint and have {} now",
                       current.numbers[i].name, saved.numbers[i].bytes, current.numbers[i].bytes);
  }
  return {};
}

}  // namespace weft::detail
