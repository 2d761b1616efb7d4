#include "array/layouts.hpp"

#include <weft/array/arithmetic.hpp>
#include <weft/array/distributed_array.hpp>
#include <weft/core/error.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

/// Expects the elements in row-major order, whatever the layout.
template <class T>
void expect_reshaped(const ConstArrayView<T>& array, const Shape& shape, int seed = 0) {
  EXPECT_EQ(array.shape(), shape);
  expect_elements(array, local_values<T>(array.layout(), seed));
}

template <class T>
void expect_round_trip(const Layout& layout, int root) {
  const bool here = layout.comm().rank() == root;
  const std::vector<T> mine = here ? global_values<T>(layout) : std::vector<T>();
  const auto array = DistributedArray<T>::from_root(layout, mine, root);
  EXPECT_EQ(array.layout(), layout);
  EXPECT_EQ(array.to_host(), local_values<T>(layout)) << "from root " << root;
  EXPECT_EQ(array.gather(root), mine) << "to root " << root;
}

index_t calls(const Comm& comm) { return comm.stats().total().calls; }

}  // namespace

TEST(DistributedArray, begins_with_zeros) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
        { make_array<T>(layout); }  // leaves other values in the pool
        const DistributedArray<T> array(layout);
        EXPECT_EQ(array.layout(), layout);
        EXPECT_EQ(array.local_count(), layout.local_count());
        expect_elements(array, std::vector<T>(static_cast<std::size_t>(array.local_count())));
      });
    });
  });
}

TEST(DistributedArray, has_the_shape_and_offset_of_its_box) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {6, 5, 4}), [](const Layout& layout) {
      const DistributedArray<float> array(layout);
      EXPECT_EQ(array.shape(), layout.shape());
      EXPECT_EQ(array.local_shape(), layout.box().shape);
      EXPECT_EQ(array.offset(), layout.box().offset);
      EXPECT_EQ(array.comm(), layout.comm());
      EXPECT_EQ(array.device(), layout.device());
    });
  });
}

TEST(DistributedArray, is_filled_with_a_number) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {5, 6}, [](const Layout& layout) {
        DistributedArray<T> array(layout);
        array.fill(T{3});
        expect_elements(array, std::vector<T>(static_cast<std::size_t>(array.local_count()), T{3}));
      });
    });
  });
}

TEST(DistributedArray, is_filled_from_a_function_of_the_global_index) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : shapes()) {
        for_each_layout(on_devices(layouts(comm, shape)), [&](const Layout& layout) {
          DistributedArray<T> array(layout, uninitialized);
          array.fill([&](const Index& at) { return value<T>(position_of(shape, at)); });
          expect_elements(array, local_values<T>(layout));
        });
      }
      DistributedArray<T> number(Layout::replicated(comm, Shape()));
      number.fill([](Index at) { return at.ndim() == 0 ? T{4} : T{}; });
      expect_elements(number, std::vector<T>{4});
    });
  });
}

TEST(DistributedArray, copies_are_deep) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
        const auto original = make_array<T>(layout);
        DistributedArray<T> copy = original;
        DistributedArray<T> another = original.copy();
        EXPECT_EQ(copy.layout(), layout);
        copy.fill(T{1});
        another *= T{0};
        expect_elements(original, local_values<T>(layout));
        copy = original;
        expect_elements(copy, local_values<T>(layout));
        if (layout.local_count() > 0) {
          EXPECT_NE(copy.data(), original.data());
        }
      });
    });
  });
}

TEST(DistributedArray, moves_keep_the_elements_in_place) {
  on_ranks([](Comm comm) {
    for_all_layouts(comm, {5, 6}, [](const Layout& layout) {
      auto first = make_array<double>(layout);
      const double* data = first.data();
      DistributedArray<double> second = std::move(first);
      EXPECT_EQ(second.data(), data);
      expect_elements(second, local_values<double>(layout));
      // A moved-from array can be assigned to.
      first = second;
      first.fill(0.0);
      expect_elements(second, local_values<double>(layout));
      std::swap(first, second);
      expect_elements(first, local_values<double>(layout));
      EXPECT_EQ(first.data(), data);
    });
  });
}

TEST(DistributedArray, takes_its_part_of_a_global_array) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : shapes()) {
        for_each_layout(on_devices(layouts(comm, shape)), [](const Layout& layout) {
          const auto array = DistributedArray<T>::from_global(layout, global_values<T>(layout));
          expect_elements(array, local_values<T>(layout));
        });
      }
    });
  });
}

TEST(DistributedArray, is_distributed_from_any_root_and_gathered_there) {
  on_ranks([](Comm comm) {
    for (const Shape& shape : {Shape{3}, Shape{4, 0, 3}, Shape{1, 7}, Shape{6, 5, 4}}) {
      for_each_layout(layouts(comm, shape), [](const Layout& layout) {
        for (int root = 0; root < layout.comm().size(); ++root) {
          expect_round_trip<double>(layout, root);
        }
      });
    }
    for_each_scalar([&](auto example) {
      for_each_layout(on_devices(layouts(comm, {5, 6})), [](const Layout& layout) {
        expect_round_trip<decltype(example)>(layout, layout.comm().size() - 1);
      });
    });
  });
}

TEST(DistributedArray, is_gathered_on_all_ranks) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for (const Shape& shape : shapes()) {
        for_each_layout(on_devices(layouts(comm, shape)), [](const Layout& layout) {
          EXPECT_EQ(make_array<T>(layout).all_gather(), global_values<T>(layout));
        });
      }
    });
  });
}

TEST(DistributedArray, gathers_an_array_without_axes) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(layouts(comm, Shape())), [](const Layout& layout) {
      const auto number = make_array<double>(layout);
      EXPECT_EQ(number.all_gather(), global_values<double>(layout));
      const int last = layout.comm().size() - 1;
      EXPECT_EQ(number.gather(last).size(), layout.comm().rank() == last ? 1U : 0U);
      EXPECT_EQ(number.reshape({1, 1}).all_gather(), global_values<double>(layout));
    });
  });
}

TEST(DistributedArray, is_copied_to_the_host_and_back) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      for_all_layouts(comm, {5, 6}, [](const Layout& layout) {
        DistributedArray<T> array(layout, uninitialized);
        array.from_host(local_values<T>(layout, 3));
        expect_elements(array, local_values<T>(layout, 3));
      });
    });
  });
}

TEST(DistributedArray, gives_host_access_only_to_host_memory) {
  on_ranks([](Comm comm) {
    const Layout layout = Layout::scatter(comm, {5, 6});
    auto here = make_array<float>(layout);
    EXPECT_EQ(std::vector<float>(here.local().begin(), here.local().end()),
              local_values<float>(layout));
    auto there = make_array<float>(layout.on(other_device()));
    const auto& constant = there;
    EXPECT_THROW(there.local(), DeviceError);
    EXPECT_THROW(constant.local(), DeviceError);
    EXPECT_THROW(there.view(), DeviceError);
    EXPECT_THROW(constant.view(), DeviceError);
  });
}

TEST(DistributedArray, local_view_is_indexed_by_local_points) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {6, 5, 4}), [](const Layout& layout) {
      auto array = make_array<std::complex<float>>(layout);
      const auto view = array.view();
      EXPECT_EQ(view.shape(), layout.box().shape);
      for (index_t i = 0; i < view.shape()[0]; ++i) {
        for (index_t j = 0; j < view.shape()[1]; ++j) {
          for (index_t k = 0; k < view.shape()[2]; ++k) {
            const Index& first = layout.box().offset;
            const Index at = {first[0] + i, first[1] + j, first[2] + k};
            const auto expected = value<std::complex<float>>(position_of({6, 5, 4}, at));
            EXPECT_EQ(view(i, j, k), expected);
            EXPECT_EQ((view[Index{i, j, k}]), expected);
            view(i, j, k) = expected * 2.0F;
          }
        }
      }
      array *= 0.5F;
      expect_elements(array, local_values<std::complex<float>>(layout));
    });
  });
}

TEST(DistributedArray, parts_of_a_stack_share_its_memory) {
  on_ranks([](Comm comm) {
    for_each_layout(on_devices(stacks(comm)), [](const Layout& layout) {
      auto array = make_array<double>(layout);
      const std::vector<double> values = array.to_host();
      const double* next = array.data();
      for (int index = 0; index < layout.part_count(); ++index) {
        const ArrayView<double> part = array.part(index);
        EXPECT_EQ(part.layout(), layout.part(index));
        if (part.local_count() > 0) {
          EXPECT_EQ(part.data(), next);
        }
        next += part.local_count();
        part *= 2.0;
        if (!layout.part(index).is_stack()) continue;
        for (int inner = 0; inner < layout.part(index).part_count(); ++inner) {
          part.part(inner) *= 3.0;
        }
      }
      std::vector<double> expected;
      index_t done = 0;
      for (int index = 0; index < layout.part_count(); ++index) {
        const double factor = layout.part(index).is_stack() ? 6 : 2;
        for (index_t i = 0; i < layout.part(index).local_count(); ++i) {
          expected.push_back(factor * values[static_cast<std::size_t>(done++)]);
        }
      }
      expect_elements(array, expected);

      // Copies and moved arrays have parts of their own.
      DistributedArray<double> copy = array;
      copy.part(0).fill(0.0);
      expect_elements(array, expected);
      DistributedArray<double> moved = std::move(copy);
      EXPECT_EQ(moved.part(0).data(), moved.data());
      moved = array;
      EXPECT_EQ(moved.part(0).to_host(), array.part(0).to_host());
    });
  });
}

TEST(DistributedArray, new_arrays_keep_the_layout) {
  on_ranks([](Comm comm) {
    for_all_layouts(comm, {6, 5, 4}, [](const Layout& layout) {
      const auto array = make_array<float>(layout);
      const auto zeros = array.zeros_like();
      expect_elements(zeros, std::vector<float>(static_cast<std::size_t>(layout.local_count())));
      for (const auto& made : {zeros, array.copy(), array + zeros, 2.0F * array, conj(array)}) {
        EXPECT_EQ(made.layout(), layout);
        EXPECT_EQ(made.device(), layout.device());
        EXPECT_EQ(made.layout().is_stack(), layout.is_stack());
        if (layout.is_stack()) continue;
        for (int rank = 0; rank < layout.comm().size(); ++rank) {
          EXPECT_EQ(made.layout().group(rank), layout.group(rank));
        }
      }
    });
  });
}

TEST(DistributedArray, is_reshaped_whatever_its_layout) {
  const std::vector<std::vector<Shape>> families = {
      {{24}, {4, 6}, {6, 4}, {2, 3, 4}, {24, 1}, {1, 24}, {1, 1, 24}, {3, 8}, {2, 2, 1, 2, 3}},
      {{0}, {0, 5}, {4, 0}, {3, 0, 2}},
      {{1}, {1, 1}, {1, 1, 1}},
      {{35}, {7, 5}, {5, 7}}};
  on_ranks([&](Comm comm) {
    for (const std::vector<Shape>& family : families) {
      for (const Shape& from : family) {
        for_each_layout(layouts(comm, from), [&](const Layout& layout) {
          if (is_grouped(layout)) return;  // asked to redistribute first
          const auto array = make_array<double>(layout);
          for (const Shape& to : family) {
            SCOPED_TRACE("reshaped to " + to_string(to));
            expect_reshaped(array.reshape(to), to);
          }
        });
      }
    }
  });
}

TEST(DistributedArray, is_reshaped_in_any_type_and_on_any_device) {
  on_ranks([](Comm comm) {
    for_each_scalar([&](auto example) {
      using T = decltype(example);
      const std::vector<Layout> some = {Layout::scatter(comm, {6, 8}),
                                        Layout::scatter(comm, {6, 8}, 1),
                                        Layout::bricks(comm, {6, 8}, wide_grid(comm.size(), 2)),
                                        Layout::replicated(comm, {6, 8}),
                                        Layout::scatter(comm, {6, 8}, 0, thirds(6, comm.size())),
                                        Layout::on_rank(comm, {6, 8}, comm.size() - 1)};
      for (const Layout& layout : some) {
        for (const Layout& each : {layout, layout.on(other_device())}) {
          SCOPED_TRACE(to_string(each));
          const auto array = make_array<T>(each);
          for (const Shape& to : {Shape{48}, Shape{16, 3}, Shape{4, 4, 3}, Shape{3, 16}}) {
            const auto reshaped = array.reshape(to);
            expect_reshaped(reshaped, to);
            EXPECT_EQ(reshaped.device(), each.device());
            EXPECT_EQ(reshaped.layout().is_replicated(), each.is_replicated());
          }
        }
      }
    });
  });
}

TEST(DistributedArray, is_reshaped_without_messages_where_rows_stay_whole) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    const int ranks = comm.size();
    const auto rows = make_array<double>(Layout::scatter(comm, {6 * ranks, 4}));
    const auto flat = make_array<double>(Layout::scatter(comm, {60}, 0, [&] {
      std::vector<index_t> extents = thirds(10, ranks);
      for (index_t& extent : extents) extent *= 6;
      return extents;
    }()));
    const auto replicated = make_array<double>(Layout::replicated(comm, {6, 10}));
    comm.reset_stats();
    expect_reshaped(rows.reshape({24 * ranks}), {24 * ranks});
    expect_reshaped(rows.reshape({2 * ranks, 3, 2, 2}), {2 * ranks, 3, 2, 2});
    expect_reshaped(flat.reshape({10, 6}), {10, 6});
    expect_reshaped(flat.reshape({10, 2, 3}), {10, 2, 3});
    expect_reshaped(replicated.reshape({7 - 2, 12}), {5, 12});
    EXPECT_EQ(calls(comm), 0);
    expect_reshaped(rows.reshape({4, 6 * ranks}), {4, 6 * ranks});
    EXPECT_LE(calls(comm), 1);
  });
}

TEST(DistributedArray, is_reshaped_to_another_shape_and_back) {
  on_ranks([](Comm comm) {
    for_each_layout(layouts(comm, {9, 4, 2}), [&](const Layout& layout) {
      if (is_grouped(layout)) return;
      const auto array = make_array<float>(layout);
      const auto back = array.reshape({8, 9}).reshape({72}).reshape({9, 4, 2}).redistribute(layout);
      expect_elements(back, array.to_host());
    });
  });
}

}  // namespace weft::test
