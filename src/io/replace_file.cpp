#include <weft/io/replace_file.hpp>

#include "io/partial_file.hpp"

namespace weft {

void replace_file(const std::string& path, std::string_view bytes) {
  detail::PartialFile partial(path);
  const detail::File file = partial.create();
  file.write(bytes.data(), static_cast<index_t>(bytes.size()), 0);
  file.sync();
  partial.replace_target();
}

}  // namespace weft
