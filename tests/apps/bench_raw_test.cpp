// Weft's calls and the bare calls get the same data and must give the same results.

#include "bench/raw.hpp"

#include "bench/memory.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace {

using namespace weft;
using namespace weft::bench;

/// Calls check(case, where, form) for all calls, on some types and all roots.
template <class Check>
void for_each_call(const Comm& world, Check check) {
  for (const Case& each : all_cases()) {
    for (const DType dtype : test::all_dtypes) {
      if (!each.takes(dtype)) continue;
      for (const ReduceOp op : test::all_ops) {
        if (each.reduces ? !has_op(dtype, op) : op != ReduceOp::sum) continue;
        for (int root = 0; root < (each.has_root ? world.size() : 1); ++root) {
          const Where at{world.rank(), world.size(), root, 1000, dtype, op};
          if (each.out_of_place) check(each, at, Form::out_of_place);
          if (each.in_place) check(each, at, Form::in_place);
        }
      }
    }
  }
}

Data data_of(const Case& each, const Where& at) {
  return Data(at.dtype, each.reduces ? std::optional(at.op) : std::nullopt, at.ranks);
}

std::string name_of_call(const Case& each, const Where& at, Form form) {
  return fmt::format("{} {} {} root {}{}", each.name, to_string(at.dtype), to_string(at.op),
                     at.root, form == Form::in_place ? " in place" : "");
}

TEST(BenchRaw, weft_calls_are_correct) {
  test::on_ranks([](const Comm& world) {
    for_each_call(world, [&](const Case& each, const Where& at, Form form) {
      const Plan plan = each.plan(at);
      CallMemory memory(plan, data_of(each, at), form, world.device());
      const Bound bound = plan.bind(world, memory.in(), memory.out());
      bound.run();
      if (bound.collect) bound.collect();
      EXPECT_EQ(memory.count_wrong(), 0) << name_of_call(each, at, form);
    });
  });
}

TEST(BenchRaw, bare_calls_give_the_same_results) {
  test::on_ranks([](const Comm& world) {
    const RawChoice choice = choose_raw(world);
    EXPECT_EQ(choice.raw != nullptr, world.transport() == "mpi");
    EXPECT_EQ(choice.reason.empty(), choice.raw != nullptr);
    if (choice.raw == nullptr) return;
    int calls = 0;
    for_each_call(world, [&](const Case& each, const Where& at, Form form) {
      // MPI stores this result elsewhere.
      if (each.kind == Kind::reduce_scatter && form == Form::in_place) return;
      const Plan plan = each.plan(at);
      CallMemory memory(plan, data_of(each, at), form, world.device());
      const auto bare = choice.raw->bind(each.kind, at, plan, form, memory.in(), memory.out());
      if (bare == nullptr) return;
      ++calls;
      bare();
      EXPECT_EQ(memory.count_wrong(), 0) << name_of_call(each, at, form);
    });
    EXPECT_GT(calls, 200);
  });
}

}  // namespace
