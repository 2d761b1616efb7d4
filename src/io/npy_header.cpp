#include "io/npy_header.hpp"

#include <weft/core/error.hpp>

#include "core/printable.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

constexpr std::string_view npy_magic("\x93NUMPY", 6);
constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';
// Far more than an array of eight axes needs; NumPy also refuses longer ones.
constexpr index_t longest_header = 10'000;

constexpr std::array<std::pair<std::string_view, DType>, 14> npy_types = {{{"f2", DType::f16},
                                                                           {"f4", DType::f32},
                                                                           {"f8", DType::f64},
                                                                           {"c8", DType::c64},
                                                                           {"c16", DType::c128},
                                                                           {"i1", DType::i8},
                                                                           {"i2", DType::i16},
                                                                           {"i4", DType::i32},
                                                                           {"i8", DType::i64},
                                                                           {"u1", DType::u8},
                                                                           {"u2", DType::u16},
                                                                           {"u4", DType::u32},
                                                                           {"u8", DType::u64},
                                                                           {"b1", DType::u8}}};

/// Parses the text of the header, a Python dictionary with three entries in any order. Refuses
/// everything that NumPy refuses or interprets differently.
class HeaderText {
 public:
  HeaderText(std::string_view text, int version, const std::string& path)
      : rest_(text), version_(version), path_(path) {}

  NpyInfo parse() {
    NpyInfo info;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    const auto expect_first = [this](bool& has, std::string_view key) {
      if (std::exchange(has, true)) fail(fmt::format("it has two entries '{}'", key));
    };
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        expect_first(has_type, key);
        parse_type(info);
      } else if (key == "fortran_order") {
        expect_first(has_order, key);
        info.fortran_order = boolean();
      } else if (key == "shape") {
        expect_first(has_shape, key);
        info.shape = shape();
      } else {
        fail(fmt::format("it has an entry '{}'", printable(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_order || !has_shape)
      fail("one of 'descr', 'fortran_order' and 'shape' is missing");
    // Python reads a carriage return here as a new statement.
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
    if (!rest_.empty()) fail(fmt::format("\"{}\" follows the last '}}'", printable(rest_)));
    return info;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(fmt::format(
        "'{}' has a header that cannot be read: {}; save the array with numpy.save", path_, why));
  }

  void skip_space() {
    while (!rest_.empty() &&
           std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos)
      rest_.remove_prefix(1);
  }
  bool accept(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted))
      fail(fmt::format("there is no '{}' before \"{}\"", wanted, printable(rest_)));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect(quote);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("a quotation mark is missing");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail("'fortran_order' is neither True nor False");
    return false;
  }

  Shape shape() {
    std::vector<index_t> extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(extent());
      if (version_ < 3) accept_word("L");  // which Python 2 appends to long integers
      if (!accept(',')) {
        expect(')');
        // Parentheses around a number do not make it a tuple.
        if (extents.size() == 1) fail("'shape' is a number, not a tuple");
        break;
      }
    }
    try {
      return Shape(Index(extents));
    } catch (const ArgumentError& error) {
      throw Error(fmt::format("'{}' has a shape that Weft cannot hold: {}; reshape the array",
                              path_, error.what()));
    }
  }

  index_t extent() {
    skip_space();
    index_t value = -1;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    const bool has_leading_zero = rest_.starts_with('0') && length > 1;
    if (code != std::errc() || rest_.starts_with('-') || has_leading_zero)
      fail(fmt::format("'shape' has no extent before \"{}\"", printable(rest_)));
    rest_.remove_prefix(length);
    return value;
  }

  void parse_type(NpyInfo& info) {
    skip_space();
    if (rest_.starts_with('[')) fail("its elements are records, not numbers");
    const std::string_view name = string();
    if (!name.empty()) {
      const char order = name.front();
      for (const auto& [code, dtype] : npy_types) {
        if (name.substr(1) != code ||
            std::string_view("<>=|").find(order) == std::string_view::npos)
          continue;
        info.dtype = dtype;
        info.swapped = (order == '<' || order == '>') && order != native_order;
        return;
      }
    }
    throw Error(
        fmt::format("'{}' has elements of NumPy's type '{}', which Weft does not support; convert "
                    "them, for instance with x.astype('f8')",
                    path_, printable(name)));
  }

  std::string_view rest_;
  int version_;
  const std::string& path_;
};

std::string_view npy_name(DType dtype) {
  for (const auto& [name, type] : npy_types) {
    if (type == dtype) return name;
  }
  refuse("NumPy has no type for {}", to_string(dtype));
}

}  // namespace

std::string npy_header(DType dtype, const Shape& shape) {
  std::string extents;
  for (const index_t extent : shape) {
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
  }
  if (shape.ndim() == 1) extents += ",";  // a Python tuple of one element has a comma
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 native_order, npy_name(dtype), extents);
  // Elements begin at a multiple of 64 bytes; the text ends with a line.
  constexpr std::size_t before = 10;
  text.resize((before + text.size()) / 64 * 64 + 64 - before - 1, ' ');
  text += '\n';

  std::string header(npy_magic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() % 256);
  header += static_cast<char>(text.size() / 256);
  return header + text;
}

NpyInfo read_npy_header(const File& file) {
  const index_t size = file.size();
  std::array<unsigned char, 12> start{};
  file.read(start.data(), std::min<index_t>(size, 12), 0);
  if (size < 10 || std::string_view(reinterpret_cast<char*>(start.data()), 6) != npy_magic) {
    throw Error(fmt::format(
        "'{}' is not a .npy file: it does not begin with the header of one; save the array with "
        "numpy.save, or unpack an .npz file first",
        file.path()));
  }
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    throw Error(fmt::format(
        "'{}' has the .npy format in version {}.{}, but only 1.0, 2.0 and 3.0 are supported; "
        "save the array with another version of NumPy",
        file.path(), version, start[7]));
  }
  const index_t before = version == 1 ? 10 : 12;
  index_t length = start[8] + 256 * start[9];
  if (version > 1) length += index_t{65536} * (start[10] + 256 * start[11]);
  if (length > longest_header) {
    throw Error(
        fmt::format("'{}' has a header of {} bytes, more than an array of numbers needs; "
                    "save the array with numpy.save",
                    file.path(), length));
  }
  std::string text(static_cast<std::size_t>(length), ' ');
  file.read(text.data(), length, before);
  NpyInfo info = HeaderText(text, version, file.path()).parse();
  info.data_offset = before + length;
  // A division, since the number of bytes in a corrupt header may overflow.
  const index_t there = (size - info.data_offset) / size_of(info.dtype);
  if (there < info.shape.count()) {
    throw Error(
        fmt::format("'{}' is not complete: it has {} of the {} elements of an array of {}; "
                    "copy or create it again",
                    file.path(), there, info.shape.count(), to_string(info.shape)));
  }
  return info;
}

}  // namespace weft::detail

namespace weft {

NpyInfo npy_info(const std::string& path) {
  return detail::read_npy_header(detail::File::open(path));
}

}  // namespace weft
