// Compares files byte by byte with images as NumPy writes them.

#include <weft/io/npy.hpp>

#include <weft/core/error.hpp>

#include "array/layouts.hpp"
#include "io/folder.hpp"
#include "io/npy_images.hpp"
#include "support/expect_error.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {
namespace {

template <Scalar T>
std::string type_name() {
  if constexpr (is_complex<T>) return sizeof(T) == 8 ? "<c8" : "<c16";
  return sizeof(T) == 4 ? "<f4" : "<f8";
}

std::string tuple(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.ndim(); ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  return text + (shape.ndim() == 1 ? ",)" : ")");
}

template <Scalar T>
void expect_round_trip(const Comm& comm, const Layout& layout, const std::string& folder) {
  // A layout on one rank needs a file per rank.
  const bool mine = layout.comm() != comm;
  const std::string path = folder + "/x" + (mine ? std::to_string(comm.rank()) : "") + ".npy";
  const auto x = make_array<T>(layout);
  if (layout.is_within_groups()) {
    EXPECT_THROW(write_npy(path, x), ArgumentError);
    return;
  }
  write_npy(path, x);
  EXPECT_EQ(content_of(path), image(dictionary(type_name<T>(), tuple(layout.shape())),
                                    bytes_of(global_values<T>(layout))));
  expect_elements(read_npy<T>(path, layout), local_values<T>(layout));
  comm.barrier();  // before the next one is written
}

/// Writes a file on rank 0, and reads it on all ranks as an array of doubles.
void expect_unreadable(const Comm& comm, const std::string& path, const std::string& content,
                       const std::vector<std::string>& words) {
  SCOPED_TRACE(words.front());
  write_on_first(comm, path, content);
  std::vector<std::string> all = words;
  all.push_back(path);
  expect_error<AgreedError>(comm, all, [&] {
    read_npy<double>(path, Layout::scatter(comm, {3, 4}));
  });
}

/// Values of type V read as T, distributed along the first axis.
template <Scalar T, class V>
void expect_widened(const Comm& comm, const std::string& path, std::string_view type,
                    const std::vector<V>& values, const std::vector<T>& expected) {
  SCOPED_TRACE(type);
  const auto n = static_cast<index_t>(values.size());
  write_on_first(comm, path, image(dictionary(type, fmt::format("({},)", n)), bytes_of(values)));
  for (const Device device : {Device::cpu(), other_device()}) {
    const auto x = read_npy<T>(path, Layout::scatter(comm, {n}).on(device));
    EXPECT_EQ(x.all_gather(), expected);
  }
}

template <Scalar T>
void expect_refused(const Comm& comm, const std::string& path, std::string_view type, index_t bytes,
                    const std::vector<std::string>& words) {
  SCOPED_TRACE(type);
  const std::string nothing(static_cast<std::size_t>(2 * bytes), '\0');
  write_on_first(comm, path, image(dictionary(type, "(2,)"), nothing));
  expect_error<AgreedError>(comm, words, [&] { read_npy<T>(path, Layout::scatter(comm, {2})); });
}

}  // namespace

TEST(Npy, round_trips_in_all_layouts) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      for (const Shape& shape : shapes()) {
        for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
          for_each_scalar([&](auto scalar) {
            using T = decltype(scalar);
            // Writing files is slow: one shape for the other scalars.
            if (shape != Shape{6, 5, 4} && dtype_of<T> != DType::f64) return;
            expect_round_trip<T>(comm, layout, folder);
          });
        });
      }
      for (const std::string& name : names_in(folder))
        EXPECT_EQ(name.find(".partial"), std::string::npos) << name;
    });
  });
}

TEST(Npy, reads_into_groups) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      write_npy(path, make_array<double>(Layout::scatter(comm, {6, 5, 4})));
      for_each_layout(on_devices(layouts(comm, {6, 5, 4})), [&](const Layout& layout) {
        expect_elements(read_npy<double>(path, layout), local_values<double>(layout));
      });
    });
  });
}

TEST(Npy, writes_what_numpy_writes) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      DistributedArray<double> x(Layout::scatter(comm, {2, 3}, 1));
      x.fill([](const Index& at) { return static_cast<double>(10 * at[0] + at[1]); });
      write_npy(path, x);
      const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                                   "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }" +
                                   "                                                          \n" +
                                   bytes_of(std::vector<double>{0, 1, 2, 10, 11, 12});
      EXPECT_EQ(content_of(path), expected);
      const NpyInfo info = npy_info(path);
      EXPECT_EQ(info.dtype, DType::f64);
      EXPECT_EQ(info.shape, (Shape{2, 3}));
      EXPECT_FALSE(info.fortran_order);
      EXPECT_FALSE(info.swapped);
      EXPECT_EQ(info.data_offset, 128);
    });
  });
}

TEST(Npy, a_single_number) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      DistributedArray<float> x(Layout::replicated(comm, Shape()));
      x.fill(2.5F);
      write_npy(path, x);
      EXPECT_EQ(content_of(path), image(dictionary("<f4", "()"), bytes_of(std::vector{2.5F})));
      EXPECT_EQ(read_npy<float>(path, x.layout()).local()[0], 2.5F);
    });
  });
}

TEST(Npy, fortran_order) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      for (const Shape& shape : shapes()) {
        Index backwards = shape;
        for (int axis = 0; axis < shape.ndim(); ++axis)
          backwards[axis] = shape[shape.ndim() - 1 - axis];
        const auto place = [&](index_t i) {
          const Index point = point_at(Shape(backwards), i);
          Index at = point;
          for (int axis = 0; axis < shape.ndim(); ++axis) at[axis] = point[shape.ndim() - 1 - axis];
          return position_of(shape, at);
        };
        std::vector<float> data;
        for (index_t i = 0; i < elements_of(shape); ++i) data.push_back(value<float>(place(i)));
        write_on_first(comm, path, image(dictionary("<f4", tuple(shape), "True"), bytes_of(data)));
        EXPECT_TRUE(npy_info(path).fortran_order);
        for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
          expect_elements(read_npy<float>(path, layout), local_values<float>(layout));
          expect_elements(read_npy<double>(path, layout), local_values<double>(layout));
        });
      }
    });
  });
}

TEST(Npy, other_bytes_and_other_headers) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      const Layout layout = Layout::scatter(comm, {2});
      const std::string two = bytes_of(std::vector<double>{1, -2.5});
      const std::string backwards(two.rbegin(), two.rend());  // this also swaps the two numbers
      write_on_first(comm, path, image(dictionary(">f8", "(2,)"), backwards));
      EXPECT_TRUE(npy_info(path).swapped);
      EXPECT_EQ(read_npy<double>(path, layout).all_gather(), (std::vector<double>{-2.5, 1}));
      EXPECT_EQ(read_npy<std::complex<double>>(path, layout).all_gather(),
                (std::vector<std::complex<double>>{-2.5, 1}));
      write_on_first(comm, path, image(dictionary(">c16", "(1,)"), backwards));
      EXPECT_EQ(read_npy<std::complex<double>>(path, Layout::scatter(comm, {1})).all_gather().at(0),
                std::complex<double>(-2.5, 1));

      // Version 2.0 has four bytes for the length; a dictionary has any order, quotes and spaces.
      const std::string text = "{\"shape\":( 2L ,),'fortran_order':False,\n \"descr\" : '=f8'}";
      write_on_first(comm, path,
                     std::string("\x93NUMPY\x02\x00", 8) + static_cast<char>(text.size()) +
                         std::string(3, '\0') + text + two + "what follows is ignored");
      EXPECT_EQ(npy_info(path).data_offset, static_cast<index_t>(12 + text.size()));
      EXPECT_EQ(read_npy<double>(path, layout).all_gather(), (std::vector<double>{1, -2.5}));
    });
  });
}

TEST(Npy, widens) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      using C64 = std::complex<float>;
      using C128 = std::complex<double>;
      const std::string path = folder + "/x.npy";
      expect_widened<float, std::uint8_t>(comm, path, "|b1", {1, 0, 1}, {1, 0, 1});
      expect_widened<float, std::int8_t>(comm, path, "|i1", {-128, 127}, {-128, 127});
      expect_widened<float, std::uint16_t>(comm, path, "<u2", {65535, 3}, {65535, 3});
      expect_widened<C64, std::int16_t>(comm, path, "<i2", {-32768, 3}, {-32768, 3});
      expect_widened<double, std::int32_t>(comm, path, "<i4", {-2147483647, 3}, {-2147483647, 3});
      expect_widened<C128, std::uint32_t>(comm, path, "<u4", {4294967295U}, {4294967295.0});
      expect_widened<double, std::int64_t>(comm, path, "<i8",
                                           {-(std::int64_t{1} << 53), std::int64_t{1} << 62,
                                            std::numeric_limits<std::int64_t>::min()},
                                           {-0x1p53, 0x1p62, -0x1p63});
      expect_widened<double, std::uint64_t>(comm, path, "<u8", {std::uint64_t{1} << 63}, {0x1p63});
      expect_widened<float, Half>(comm, path, "<f2", {Half(0.5F), Half(-2.0F)}, {0.5F, -2.0F});
      expect_widened<double, float>(comm, path, "<f4", {0.1F, -7}, {double{0.1F}, -7});
      expect_widened<C64, float>(comm, path, "<f4", {0.1F, -7}, {0.1F, -7});
      expect_widened<C128, double>(comm, path, "<f8", {0.1, -7}, {0.1, -7});
      expect_widened<C128, C64>(comm, path, "<c8", {{0.5F, -1}, {2, 3}}, {{0.5, -1}, {2, 3}});
    });
  });
}

TEST(Npy, refuses_to_narrow) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      expect_refused<float>(comm, path, "<f8", 8, {path, "f64", "f32"});
      expect_refused<float>(comm, path, "<i4", 4, {path, "i32", "f32"});
      expect_refused<float>(comm, path, "<u8", 8, {path, "u64", "f32"});
      expect_refused<double>(comm, path, "<c8", 8, {path, "c64", "f64"});
      expect_refused<std::complex<float>>(comm, path, "<c16", 16, {path, "c128", "c64"});
      expect_refused<std::complex<float>>(comm, path, "<f8", 8, {path, "f64", "c64"});
      expect_refused<double>(comm, path, "<f16", 16, {path, "<f16", "astype"});
      expect_refused<double>(comm, path, "<U3", 12, {path, "<U3", "astype"});
      expect_refused<double>(comm, path, "", 8, {path, "''", "astype"});

      // One rank finds a value that does not fit into a double; all ranks throw.
      const std::int64_t long_number = (std::int64_t{1} << 53) + 1;
      const std::vector<std::int64_t> values = {1, 2, 3, 4, 5, 6, long_number};
      write_on_first(comm, path, image(dictionary("<i8", "(7,)"), bytes_of(values)));
      expect_error<AgreedError>(comm, {path, std::to_string(long_number)},
                                [&] { read_npy<double>(path, Layout::scatter(comm, {7})); });
    });
  });
}

// Threads read pieces of these arrays, with runs both longer and shorter than a piece.
TEST(Npy, large_arrays) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      for (const Shape& shape : {Shape{150'001}, Shape{3, 50'021}, Shape{1601, 101}}) {
        std::vector<float> data;
        for (index_t i = 0; i < elements_of(shape); ++i) data.push_back(value<float>(i));
        std::string swapped = bytes_of(data);
        for (std::size_t i = 0; i < swapped.size(); i += sizeof(float)) {
          std::reverse(swapped.begin() + static_cast<std::ptrdiff_t>(i),
                       swapped.begin() + static_cast<std::ptrdiff_t>(i + sizeof(float)));
        }
        for (const bool swap : {false, true}) {
          write_on_first(comm, path,
                         image(dictionary(swap ? ">f4" : "<f4", tuple(shape)),
                               swap ? swapped : bytes_of(data)));
          for (int axis = 0; axis < shape.ndim(); ++axis) {
            const Layout layout = Layout::scatter(comm, shape, axis);
            expect_elements(read_npy<float>(path, layout), local_values<float>(layout));
            expect_elements(read_npy<double>(path, layout), local_values<double>(layout));
          }
          comm.barrier();
        }
      }
    });
  });
}

TEST(Npy, the_first_of_several_bad_numbers) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      const std::int64_t bad = (std::int64_t{1} << 53) + 1;
      std::vector<std::int64_t> values(100'000);
      for (const std::size_t place : {90'000U, 60'000U, 40'000U}) {
        values[place] = bad + 2 * static_cast<std::int64_t>(place);
      }
      write_on_first(comm, path, image(dictionary("<i8", "(100000,)"), bytes_of(values)));
      expect_error<AgreedError>(comm, {path, std::to_string(bad + 80'000)}, [&] {
        read_npy<double>(path, Layout::replicated(comm, {100'000}));
      });
    });
  });
}

TEST(Npy, bad_files) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      const std::string data(3 * 4 * 8, '\0');
      const std::string good = image(dictionary("<f8", "(3, 4)"), data);
      expect_unreadable(comm, path, good.substr(0, good.size() - 1), {"11 of the 12", "(3, 4)"});
      expect_unreadable(comm, path, good.substr(0, 40), {"not complete"});
      expect_unreadable(comm, path, "", {"not a .npy file"});
      expect_unreadable(comm, path, good.substr(0, 9), {"not a .npy file"});
      expect_unreadable(comm, path, "PK\x03\x04" + good, {"not a .npy file", ".npz"});
      std::string later = good;
      later[6] = 9;
      expect_unreadable(comm, path, later, {"version 9.0"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(4, 3)"), data),
                        {"(4, 3)", "(3, 4)", "npy_info"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(12,)"), data), {"(12)", "(3, 4)"});
      const std::string huge = "(4611686018427387904, 4611686018427387904)";
      expect_unreadable(comm, path, image(dictionary("<f8", huge), data), {"64 bits"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(4611686018427387904,)"), data),
                        {"12 of the 4611686018427387904"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(1,1,1,1,1,1,1,1,12)"), data), {"9"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(3, -4)"), data), {"extent"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(3, 4"), data), {"header"});
      expect_unreadable(comm, path, image(dictionary("<f8", "(3, 4)", "None"), data), {"True"});
      expect_unreadable(comm, path, image("{'descr': '<f8', 'shape': (3, 4)}", data),
                        {"fortran_order"});
      expect_unreadable(comm, path, image("{'descr': [('a', '<f8')]}", data), {"records"});
      expect_unreadable(comm, path, image("{'color': 'red'}", data), {"color"});
      expect_unreadable(comm, path, image("{'descr: 1", data), {"quotation"});
      expect_unreadable(comm, path, image("", data), {"'{'"});
      std::string endless("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
      expect_unreadable(comm, path, endless, {"4294967295"});
    });
  });
}

TEST(Npy, missing_files) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const Layout layout = Layout::scatter(comm, {3});
      const std::string missing = folder + "/none.npy";
      expect_error<AgreedError>(comm, {missing, "exists"},
                                [&] { read_npy<double>(missing, layout); });
      expect_error<AgreedError>(comm, {folder}, [&] { read_npy<double>(folder, layout); });
      EXPECT_THROW(npy_info(missing), Error);

      const auto x = make_array<double>(layout);
      const std::string nowhere = folder + "/none/x.npy";
      expect_error<AgreedError>(comm, {nowhere, "folder exists"}, [&] { write_npy(nowhere, x); });
      write_on_first(comm, folder + "/file", "");
      expect_error<AgreedError>(comm, {"/file/x.npy"},
                                [&] { write_npy(folder + "/file/x.npy", x); });
    });
  });
}

TEST(Npy, one_array_only) {
  on_ranks([](Comm comm) {
    in_folder(comm, [&](const std::string& folder) {
      const std::string path = folder + "/x.npy";
      for_each_layout(stacks(comm), [&](const Layout& stack) {
        EXPECT_THROW(write_npy(path, make_array<double>(stack)), ArgumentError);
        EXPECT_THROW(read_npy<double>(path, stack), ArgumentError);
      });
      EXPECT_FALSE(std::filesystem::exists(path));
    });
  });
}

}  // namespace weft::test
