#include <weft/io/npy.hpp>

#include <weft/core/error.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/dispatch.hpp>

#include "array/box_kernels.hpp"
#include "array/strides.hpp"
#include "io/box_file.hpp"
#include "io/npy_convert.hpp"
#include "io/npy_header.hpp"
#include "io/shared_file.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using detail::File;
using detail::SharedFile;
using detail::together;

Index reversed(const Index& index) {
  Index result = index;
  for (int axis = 0; axis < index.ndim(); ++axis) result[axis] = index[index.ndim() - 1 - axis];
  return result;
}

/// The elements of a box, contiguous, in the order of the file.
template <Scalar T>
void read_box(const File& file, const NpyInfo& info, const Box& box, T* data) {
  const bool reverse = info.fortran_order;
  const Shape shape = reverse ? Shape(reversed(info.shape)) : info.shape;
  const Box part = reverse ? Box{reversed(box.offset), Shape(reversed(box.shape))} : box;
  const index_t element = size_of(info.dtype);
  const auto read = [&](void* to, index_t count, index_t place) {
    file.read(to, count * element, info.data_offset + place * element);
    if (info.swapped) detail::swap_bytes(to, count, info.dtype);
  };
  detail::share_pieces(detail::Runs(shape, part), [&](index_t place, index_t begin, index_t count) {
    if (info.dtype == dtype_of<T>) return read(data + begin, count, place);
    const auto raw =
        std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(count * element));
    read(raw.get(), count, place);
    detail::convert<T>(file.path(), info.dtype, raw.get(),
                       {data + begin, static_cast<std::size_t>(count)});
  });
}

template <Scalar T>
Buffer<T> in_c_order(const Shape& shape, const Buffer<T>& values) {
  Buffer<T> result(values.size());
  const Index strides = reversed(detail::strides_of(Shape(reversed(shape))));
  dispatch(Device::cpu(), [&](auto here) {
    kernels::copy_box(here, shape, kernel_cast(values.data()), strides, kernel_cast(result.data()),
                      detail::strides_of(shape));
  });
  return result;
}

template <Scalar T>
void read_part(const File& file, const NpyInfo& info, DistributedArray<T>& x) {
  const Box& box = x.layout().box();
  if (x.local_count() == 0) return;
  if (!info.fortran_order && x.device().host_accessible()) {
    return read_box(file, info, box, x.data());
  }
  Buffer<T> values(x.local_count());
  read_box(file, info, box, values.data());
  if (info.fortran_order) values = in_c_order(box.shape, values);
  x.from_host({values.data(), static_cast<std::size_t>(values.size())});
}

}  // namespace

template <Scalar T>
void write_npy(const std::string& path, const ConstArrayView<T>& x) {
  const Layout& layout = x.layout();
  require(!layout.is_stack(),
          "write_npy: a .npy file has one array, but this is a {}; write each part() to a file of "
          "its own",
          to_string(layout));
  require(!layout.is_within_groups(),
          "write_npy: every group of ranks has an array of its own in {}; redistribute() it to a "
          "layout of all ranks first",
          to_string(layout));
  const Comm& comm = layout.comm();
  const bool first = comm.rank() == 0;
  const std::string header = detail::npy_header(dtype_of<T>, layout.shape());
  const auto data_offset = static_cast<index_t>(header.size());

  SharedFile shared(comm, path, data_offset + layout.count() * index_t{sizeof(T)});
  together(comm, [&] {
    const bool has_elements = x.local_count() > 0 && (first || !layout.is_replicated());
    if (!first && !has_elements) return;
    const File file = File::open_for_writing(shared.path());
    if (first) file.write(header.data(), data_offset, 0);
    const bool here = x.device().host_accessible();
    const std::vector<T> copy = here ? std::vector<T>() : x.to_host();
    if (has_elements) {
      detail::write_box(file, layout.shape(), layout.box(), data_offset,
                        here ? x.data() : copy.data(), index_t{sizeof(T)});
    }
    file.sync();
  });
  shared.replace_target();
}

template <Scalar T>
DistributedArray<T> read_npy(const std::string& path, const Layout& layout) {
  require(!layout.is_stack(),
          "read_npy: a .npy file has one array, but the layout is a {}; read each part from a file "
          "of its own",
          to_string(layout));
  std::optional<DistributedArray<T>> x;
  together(layout.comm(), [&] {
    const File file = File::open(path);
    const NpyInfo info = detail::read_npy_header(file);
    if (info.shape != layout.shape()) {
      refuse(
          "read_npy: '{}' has an array of {}, but the layout is for one of {}; make a layout of "
          "npy_info(path).shape",
          path, to_string(info.shape), to_string(layout.shape()));
    }
    if (!detail::converts<T>(info.dtype)) {
      refuse(
          "read_npy: '{}' has elements of type {}, which {} cannot hold exactly; read it as a "
          "wider type, or convert it first",
          path, to_string(info.dtype), to_string(dtype_of<T>));
    }
    x.emplace(layout, uninitialized);
    read_part(file, info, *x);
  });
  return std::move(*x);
}

#define INSTANTIATE(T)                                                   \
  template void write_npy(const std::string&, const ConstArrayView<T>&); \
  template DistributedArray<T> read_npy<T>(const std::string&, const Layout&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft
