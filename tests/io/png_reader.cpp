// Written from the standards of PNG, zlib and deflate, with nothing of the library's own encoder.

#include "io/png_reader.hpp"

#include <stdexcept>

namespace weft::test {
namespace {

void check(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  check(at < bytes.size(), "the data end too early");
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | byte_at(bytes, at + i);
  return number;
}

/// Bit by bit: the remainder of a division of polynomials.
std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t rest = 0xffffffff;
  for (const char c : bytes) {
    rest ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd = rest % 2 == 1;
      rest >>= 1;
      if (odd) rest ^= 0xedb88320;
    }
  }
  return rest ^ 0xffffffff;
}

/// Deflate with stored blocks and blocks of the fixed code.
class Inflater {
 public:
  explicit Inflater(std::string_view bytes) : bytes_(bytes) {}

  std::vector<std::uint8_t> unpack() {
    bool last = false;
    while (!last) {
      last = number(1) == 1;
      const int kind = number(2);
      check(kind == 0 || kind == 1, "a block of a kind that the test does not know");
      if (kind == 0)
        stored_block();
      else
        fixed_block();
    }
    check((bit_ + 7) / 8 == bytes_.size(), "there is something behind the last block");
    return out_;
  }

 private:
  int bit() {
    const int value = byte_at(bytes_, bit_ / 8) >> (bit_ % 8) & 1;
    ++bit_;
    return value;
  }
  int number(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }
  int code(int count, int begun = 0) {
    for (int i = 0; i < count; ++i) begun = begun * 2 + bit();
    return begun;
  }

  void stored_block() {
    bit_ = (bit_ + 7) / 8 * 8;
    const int length = number(16);
    check(length == (~number(16) & 0xffff), "the length of a stored block");
    for (int i = 0; i < length; ++i) out_.push_back(static_cast<std::uint8_t>(number(8)));
  }

  /// Codes of 7 bits are below 24 (symbols from 256), of 8 bits below 192 (from 0) and 200 (from
  /// 280), and the rest has 9 bits (from 144).
  int symbol() {
    int value = code(7);
    if (value < 24) return 256 + value;
    value = code(1, value);
    if (value < 192) return value - 48;
    if (value < 200) return value - 192 + 280;
    return code(1, value) - 400 + 144;
  }

  void fixed_block() {
    for (int next = symbol(); next != 256; next = symbol()) {
      if (next < 256) {
        out_.push_back(static_cast<std::uint8_t>(next));
        continue;
      }
      const int length = length_of(next);
      const int distance = distance_of(code(5));
      check(distance <= static_cast<int>(out_.size()), "a reference to before the beginning");
      for (int i = 0; i < length; ++i)
        out_.push_back(out_[out_.size() - static_cast<std::size_t>(distance)]);
    }
  }

  int length_of(int symbol) {
    static constexpr std::array<int, 29> base = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                 15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                 67, 83, 99, 115, 131, 163, 195, 227, 258};
    const int which = symbol - 257;
    check(which < 29, "a length that does not exist");
    const int extra = which < 8 || which == 28 ? 0 : which / 4 - 1;
    return base[static_cast<std::size_t>(which)] + number(extra);
  }
  int distance_of(int symbol) {
    check(symbol < 30, "a distance that does not exist");
    if (symbol < 4) return symbol + 1;
    const int extra = symbol / 2 - 1;
    return ((2 + symbol % 2) << extra) + 1 + number(extra);
  }

  std::string_view bytes_;
  std::size_t bit_ = 0;
  std::vector<std::uint8_t> out_;
};

std::vector<std::uint8_t> unpack_zlib(std::string_view data) {
  check(data.size() >= 6, "no zlib stream");
  check((byte_at(data, 0) & 15) == 8, "not deflate");
  check((byte_at(data, 0) * 256 + byte_at(data, 1)) % 31 == 0, "the check of zlib's head");
  std::vector<std::uint8_t> bytes = Inflater(data.substr(2, data.size() - 6)).unpack();
  std::uint64_t a = 1;
  std::uint64_t b = 0;
  for (const std::uint8_t byte : bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  check(b * 65536 + a == big_endian(data, data.size() - 4), "the sum of the data");
  return bytes;
}

void undo_filters(PngImage& image, const std::vector<std::uint8_t>& rows) {
  const auto width = static_cast<std::size_t>(image.width);
  check(rows.size() == (width + 1) * static_cast<std::size_t>(image.height), "too many pixels");
  for (std::size_t start = 0; start < rows.size(); start += width + 1) {
    const int filter = rows[start];
    check(filter == 0 || filter == 2, "a filter that the test does not know");
    for (std::size_t x = 0; x < width; ++x) {
      const bool above = filter == 2 && start > 0;
      const int base = above ? image.pixels[image.pixels.size() - width] : 0;
      image.pixels.push_back(static_cast<std::uint8_t>(rows[start + 1 + x] + base));
    }
  }
}

}  // namespace

std::uint8_t PngImage::at(int row, int column) const {
  return pixels.at(static_cast<std::size_t>(row * width + column));
}

PngImage read_png(std::string_view bytes) {
  check(bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n", "not a PNG file");
  PngImage image;
  std::string data;
  std::string order;
  for (std::size_t at = 8; at < bytes.size();) {
    const std::size_t length = big_endian(bytes, at);
    const std::string_view name = bytes.substr(at + 4, 4);
    const std::string_view content = bytes.substr(at + 8, length);
    check(big_endian(bytes, at + 8 + length) == crc_of(bytes.substr(at + 4, 4 + length)), "a CRC");
    order += std::string(name) + ' ';
    if (name == "IHDR") {
      image.width = static_cast<int>(big_endian(content, 0));
      image.height = static_cast<int>(big_endian(content, 4));
      check(content.substr(8) == std::string_view("\x08\x03\0\0\0", 5), "not an 8-bit palette");
    } else if (name == "PLTE") {
      for (std::size_t i = 0; i < length; i += 3)
        image.palette.push_back(
            {byte_at(content, i), byte_at(content, i + 1), byte_at(content, i + 2)});
    } else if (name == "IDAT") {
      data += content;
    }
    at += 12 + length;
  }
  check(order == "IHDR PLTE IDAT IEND ", "the order of the parts");
  undo_filters(image, unpack_zlib(data));
  return image;
}

}  // namespace weft::test
