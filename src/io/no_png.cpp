#include <weft/core/error.hpp>

#include "io/png.hpp"

namespace weft::detail {

std::string encode_png(std::span<const std::uint8_t> /*pixels*/, index_t /*width*/,
                       index_t /*height*/, const Palette& /*palette*/) {
  throw Error(
      "png_picture: this build of Weft has no libpng. Install it (on Debian or Ubuntu: libpng-dev) "
      "and configure again with -D WEFT_PNG=ON.");
}

}  // namespace weft::detail
