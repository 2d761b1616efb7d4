#include "io/png.hpp"

#include <algorithm>
#include <string_view>

namespace weft::detail {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> remainders{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1U) != 0 ? 0xedb88320U : 0U);
      remainders[byte] = rest;
    }
    return remainders;
  }();
  std::uint32_t sum = 0xffffffffU;
  for (const char byte : bytes)
    sum = (sum >> 8) ^ table[(sum ^ static_cast<std::uint8_t>(byte)) & 0xffU];
  return ~sum;
}

std::uint32_t adler32(const Bytes& bytes) {
  constexpr std::uint32_t modulus = 65521;
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const std::uint8_t byte : bytes) {
    low = (low + byte) % modulus;
    high = (high + low) % modulus;
  }
  return (high << 16) | low;
}

void append_big_endian(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((number >> shift) & 0xffU);
}

void append_chunk(std::string& out, std::string_view name, std::string_view data) {
  append_big_endian(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = out.size();
  out += name;
  out += data;
  append_big_endian(out, crc32(std::string_view(out).substr(begin)));
}

/// Packs bytes as deflate does with its fixed code, and with no references but to the byte before:
/// all that pictures with large areas of one colour need.
class Deflater {
 public:
  std::string pack(const Bytes& bytes) {
    put(1, 1);  // the last block
    put(1, 2);  // the fixed code
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t same = at == 0 ? 0 : repeats(bytes, at);
      if (same < shortest) {
        put_symbol(bytes[at]);
        ++at;
      } else {
        put_repeat(static_cast<unsigned>(same));
        at += same;
      }
    }
    put_symbol(256);  // the end
    put(0, 7);        // fills the last byte
    return std::move(out_);
  }

 private:
  static constexpr std::size_t shortest = 3;
  static constexpr std::size_t longest = 258;

  /// How often the byte before comes again.
  static std::size_t repeats(const Bytes& bytes, std::size_t at) {
    const std::size_t end = std::min(bytes.size(), at + longest);
    std::size_t next = at;
    while (next < end && bytes[next] == bytes[at - 1]) ++next;
    return next - at;
  }

  /// Bits go into bytes from the lowest on.
  void put(unsigned bits, int count) {
    pending_ |= bits << used_;
    used_ += count;
    for (; used_ >= 8; used_ -= 8, pending_ >>= 8) out_ += static_cast<char>(pending_ & 0xffU);
  }
  /// Codes, unlike numbers, begin with their highest bit.
  void put_code(unsigned code, int count) {
    unsigned reversed = 0;
    for (int bit = 0; bit < count; ++bit) reversed |= ((code >> bit) & 1U) << (count - 1 - bit);
    put(reversed, count);
  }
  void put_symbol(unsigned symbol) {
    if (symbol < 144) return put_code(0x30 + symbol, 8);
    if (symbol < 256) return put_code(0x190 + symbol - 144, 9);
    if (symbol < 280) return put_code(symbol - 256, 7);
    put_code(0xc0 + symbol - 280, 8);
  }

  void put_repeat(unsigned length) {
    if (length == longest) {
      put_symbol(285);
    } else if (length < 11) {
      put_symbol(257 + length - 3);
    } else {
      // Four symbols for each number of extra bits, which say where in its range a length is.
      int extra = 1;
      while (length - 3 >= 8U << extra) ++extra;
      const unsigned rest = (length - 3) - (4U << extra);
      put_symbol(261 + 4 * static_cast<unsigned>(extra) + (rest >> extra));
      put(rest & ((1U << extra) - 1), extra);
    }
    put_code(0, 5);  // one byte back
  }

  std::string out_;
  unsigned pending_ = 0;
  int used_ = 0;
};

/// Rows as PNG stores them: each after the number of its filter. A row equal to the one above is
/// stored as its difference from that, which is zero and packs best.
Bytes filtered(std::span<const std::uint8_t> pixels, std::size_t width, std::size_t height) {
  constexpr std::uint8_t as_it_is = 0;
  constexpr std::uint8_t difference_from_above = 2;
  Bytes rows((width + 1) * height);
  auto out = rows.begin();
  for (std::size_t y = 0; y < height; ++y) {
    const auto row = pixels.subspan(y * width, width);
    if (y > 0 && std::equal(row.begin(), row.end(), row.data() - width)) {
      *out++ = difference_from_above;
      out += static_cast<std::ptrdiff_t>(width);  // zeros
    } else {
      *out++ = as_it_is;
      out = std::copy(row.begin(), row.end(), out);
    }
  }
  return rows;
}

}  // namespace

std::string encode_png(std::span<const std::uint8_t> pixels, index_t width, index_t height,
                       const Palette& palette) {
  std::string head;
  append_big_endian(head, static_cast<std::uint32_t>(width));
  append_big_endian(head, static_cast<std::uint32_t>(height));
  head += std::string_view("\x08\x03\0\0\0", 5);  // 8 bits, palette; the rest is as always

  std::string colors;
  for (const Rgb& color : palette) colors.append(color.begin(), color.end());

  const Bytes rows =
      filtered(pixels, static_cast<std::size_t>(width), static_cast<std::size_t>(height));
  std::string data("\x78\x01");  // the head of a zlib stream
  data += Deflater().pack(rows);
  append_big_endian(data, adler32(rows));

  std::string png("\x89PNG\r\n\x1a\n");
  append_chunk(png, "IHDR", head);
  append_chunk(png, "PLTE", colors);
  append_chunk(png, "IDAT", data);
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace weft::detail
