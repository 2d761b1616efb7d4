#include "io/png.hpp"

#include <weft/core/error.hpp>

#include <png.h>

#include <tuple>

namespace weft::detail {

std::string encode_png(std::span<const std::uint8_t> pixels, index_t width, index_t height,
                       const Palette& palette) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = static_cast<png_uint_32>(palette.size());
  static_assert(sizeof(Palette) == 3 * std::tuple_size_v<Palette>);

  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(size, '\0');
  constexpr int keep_8_bits = 0;
  constexpr png_int_32 contiguous_rows = 0;
  if (png_image_write_to_memory(&image, png.data(), &size, keep_8_bits, pixels.data(),
                                contiguous_rows, palette.data()) == 0) {
    throw Error(fmt::format("png_picture: libpng: {}", image.message));
  }
  png.resize(size);
  return png;
}

}  // namespace weft::detail
