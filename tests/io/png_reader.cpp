#include "io/png_reader.hpp"

#include <png.h>

#include <stdexcept>

namespace weft::test {
namespace {

void require_success(int success, const png_image& image) {
  if (success == 0) throw std::runtime_error(image.message);
}

}  // namespace

std::uint8_t PngImage::at(int row, int column) const {
  return pixels.at(static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                   static_cast<std::size_t>(column));
}

PngImage read_png(std::string_view bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  require_success(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), image);
  if ((image.format & PNG_FORMAT_FLAG_COLORMAP) == 0) {
    png_image_free(&image);
    throw std::runtime_error("not a palette picture");
  }
  image.format = PNG_FORMAT_RGB_COLORMAP;
  PngImage result;
  result.width = static_cast<int>(image.width);
  result.height = static_cast<int>(image.height);
  result.palette.resize(256);
  result.pixels.resize(PNG_IMAGE_SIZE(image));
  require_success(
      png_image_finish_read(&image, nullptr, result.pixels.data(), 0, result.palette.data()),
      image);
  result.palette.resize(image.colormap_entries);
  return result;
}

}  // namespace weft::test
