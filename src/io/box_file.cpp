#include "io/box_file.hpp"

namespace weft::detail {

void write_box(const File& file, const Shape& shape, const Box& box, index_t offset,
               const void* data, index_t element) {
  const auto* bytes = static_cast<const char*>(data);
  for_each_run(shape, box, [&](index_t to, index_t from, index_t count) {
    file.write(bytes + from * element, count * element, offset + to * element);
  });
}

void read_box(const File& file, const Shape& shape, const Box& box, index_t offset, void* data,
              index_t element) {
  auto* bytes = static_cast<char*>(data);
  for_each_run(shape, box, [&](index_t from, index_t to, index_t count) {
    file.read(bytes + to * element, count * element, offset + from * element);
  });
}

}  // namespace weft::detail
