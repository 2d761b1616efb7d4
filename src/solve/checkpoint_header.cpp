#include "solve/checkpoint_header.hpp"

#include <weft/core/error.hpp>

#include "solve/solver_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>
#include <string_view>

namespace weft::detail {
namespace {

constexpr std::string_view magic = "weft checkpoint ";
constexpr std::string_view version = "1";
// The first line: what it is, and how long the text behind it is, with its checksum.
constexpr index_t first_line_bytes = 16 + 2 + 16 + 1 + 16 + 1;
// The history lies behind arrays of any type.
constexpr index_t alignment = 8;

index_t aligned(index_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::string hex(std::uint64_t number) { return fmt::format("{:016x}", number); }
std::string hex(double number) { return hex(std::bit_cast<std::uint64_t>(number)); }

std::uint64_t text_checksum(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum = scrambled(sum + 1 + static_cast<unsigned char>(c));
  return sum;
}

/// Takes a line apart. A text whose checksum is right is as it was written.
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
  std::vector<index_t> extents(static_cast<std::size_t>(line.integer()));
  for (index_t& extent : extents) extent = line.integer();
  array.shape = Shape(Index(extents));
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
    if (line.key() == "dealing") header.dealing = line.bits();
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
    if (line.key() == "fact") {
      const double value = line.real();
      const double tolerance = line.real();
      header.facts.push_back({line.rest(), value, tolerance});
    }
  }
  return header;
}

std::string list_of(const std::vector<CheckpointHeader::Array>& arrays) {
  std::string list;
  for (const auto& array : arrays) {
    list += fmt::format("{}{} ({} of {})", list.empty() ? "" : ", ", array.name, array.dtype,
                        to_string(array.shape));
  }
  return list;
}

template <class Named>
std::string names_of(const std::vector<Named>& all) {
  std::string names;
  for (const Named& one : all) names += names.empty() ? one.name : ", " + one.name;
  return names;
}

}  // namespace

std::string CheckpointHeader::text() const {
  std::string lines = fmt::format("solver {}\nranks {}\ndealing {}\nhistory {}\nchecksum {}\n",
                                  solver, ranks, hex(dealing), history_length, hex(checksum));
  for (const Integer& integer : integers)
    lines += fmt::format("integer {} {}\n", integer.value, integer.name);
  for (const Array& array : arrays) {
    lines += fmt::format("array {} {} {}", array.dtype, array.element, array.shape.ndim());
    for (const index_t extent : array.shape) lines += fmt::format(" {}", extent);
    lines += fmt::format(" {}\n", array.name);
  }
  for (const Numbers& one : numbers) lines += fmt::format("numbers {} {}\n", one.bytes, one.name);
  for (const Fact& fact : facts)
    lines += fmt::format("fact {} {} {}\n", hex(fact.value), hex(fact.tolerance), fact.name);
  return fmt::format("{}{} {} {}\n{}", magic, version, hex(lines.size()), hex(text_checksum(lines)),
                     lines);
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
  return history_offset() + history_length * numbers_per_status * index_t{sizeof(double)};
}

CheckpointHeader read_checkpoint_header(const File& file, index_t& text_bytes) {
  const std::string& path = file.path();
  const index_t size = file.size();
  std::string first(static_cast<std::size_t>(std::min(size, first_line_bytes)), '\0');
  file.read(first.data(), static_cast<index_t>(first.size()), 0);
  if (!first.starts_with(magic)) {
    throw Error(fmt::format(
        "'{}' is not a checkpoint; remove it, or use another path for checkpoints", path));
  }
  Line line(first.substr(magic.size()));
  if (line.key() != version) {
    throw Error(fmt::format(
        "the checkpoint '{}' has format {}, but this version of Weft reads format {}; use the "
        "version that has written it, or remove it",
        path, line.key(), version));
  }
  const auto lines_bytes = static_cast<index_t>(line.bits());
  const std::uint64_t checksum = line.bits();
  const auto damaged = [&](const std::string& what) {
    return Error(fmt::format(
        "the checkpoint '{}' is damaged: {}; remove it to start anew, or put an older copy there",
        path, what));
  };
  if (lines_bytes < 0 || lines_bytes > size - first_line_bytes)
    throw damaged(fmt::format("it ends after {} bytes, in its header", size));
  std::string lines(static_cast<std::size_t>(lines_bytes), '\0');
  file.read(lines.data(), lines_bytes, first_line_bytes);
  if (text_checksum(lines) != checksum) throw damaged("the checksum of its header is wrong");
  CheckpointHeader header = parse(lines);
  text_bytes = first_line_bytes + lines_bytes;
  if (text_bytes + header.data_bytes() != size) {
    throw damaged(
        fmt::format("it has {} bytes in place of {}", size, text_bytes + header.data_bytes()));
  }
  return header;
}

std::string difference(const CheckpointHeader& there, const CheckpointHeader& here) {
  if (there.solver != here.solver)
    return fmt::format("its solver is {}, and this one is {}", there.solver, here.solver);
  if (const auto theirs = list_of(there.arrays), ours = list_of(here.arrays); theirs != ours)
    return fmt::format("its arrays are {}, and those here are {}", theirs, ours);
  if (const auto theirs = names_of(there.numbers), ours = names_of(here.numbers); theirs != ours)
    return fmt::format("its numbers are {}, and those here are {}", theirs, ours);
  if (const auto theirs = names_of(there.integers), ours = names_of(here.integers); theirs != ours)
    return fmt::format("its counters are {}, and those here are {}", theirs, ours);
  if (const auto theirs = names_of(there.facts), ours = names_of(here.facts); theirs != ours)
    return fmt::format("it is known by {}, and this one by {}", theirs, ours);
  for (std::size_t i = 0; i < there.facts.size(); ++i) {
    const Fact& theirs = there.facts[i];
    const Fact& ours = here.facts[i];
    if (std::abs(theirs.value - ours.value) <= std::max(theirs.tolerance, ours.tolerance)) continue;
    return fmt::format("there, {} is {:.9g}, and here it is {:.9g}", theirs.name, theirs.value,
                       ours.value);
  }
  return {};
}

}  // namespace weft::detail
