#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>

#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace weft::test {
namespace {

void copy(const Buffer<int>& from, Buffer<int>& to) {
  copy_bytes(to.data(), to.device(), from.data(), from.device(),
             static_cast<std::size_t>(from.size()) * sizeof(int));
}

Buffer<int> on_device(std::vector<int> values) {
  Buffer<int> buffer(static_cast<index_t>(values.size()), other_device());
  copy_bytes(buffer.data(), buffer.device(), values.data(), Device::cpu(),
             values.size() * sizeof(int));
  std::fill(values.begin(), values.end(), -1);  // the copy must not read them any more
  return buffer;
}

std::vector<int> on_host(const Buffer<int>& buffer) {
  std::vector<int> values(static_cast<std::size_t>(buffer.size()));
  copy_bytes(values.data(), Device::cpu(), buffer.data(), buffer.device(),
             values.size() * sizeof(int));
  return values;
}

std::vector<int> counted(std::size_t count, int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace

TEST(Stream, copies_of_any_size_arrive) {
  // Around the sizes at which copies are divided or use another path.
  for (const std::size_t count : {0U, 1U, 16384U, 16385U, 1048576U, 1048577U, 5000000U}) {
    const std::vector<int> values = counted(count, 7);
    EXPECT_EQ(on_host(on_device(values)), values) << count;
  }
}

TEST(Stream, host_waits_only_for_values) {
  const Buffer<int> first = on_device(counted(1000, 1));
  Buffer<int> second(1000, other_device());
  const index_t before = Stream::host_waits();
  copy(first, second);
  copy(on_device(counted(1000, 2)), second);
  EXPECT_EQ(Stream::host_waits(), before);
  EXPECT_EQ(on_host(second), counted(1000, 2));
  EXPECT_EQ(Stream::host_waits(), before + 1);
}

TEST(Stream, is_unique_per_thread_and_device) {
  EXPECT_EQ(Stream::current(other_device()).handle(), Stream::current(other_device()).handle());
  EXPECT_EQ(Stream::current(Device::cpu()).handle(), nullptr);
  EXPECT_EQ(Stream::make(Device::debug()).handle(), nullptr);
  EXPECT_THROW(Stream::current(Device::cuda(9999)), DeviceError);
  EXPECT_THROW(Stream::make(Device::cuda(9999)), DeviceError);
}

TEST(Stream, waits_for_events_of_other_streams) {
  const Stream here = Stream::current(other_device());
  const Stream beside = Stream::make(other_device());
  Event event;
  EXPECT_TRUE(event.passed());
  beside.wait(event);  // never recorded: nothing to wait for
  const Buffer<int> data = on_device(counted(100000, 3));
  event.record(here);
  beside.wait(event);
  beside.synchronize();
  EXPECT_TRUE(event.passed());
  EXPECT_EQ(on_host(data), counted(100000, 3));
}

TEST(StreamGraph, repeats_captured_work) {
  const Buffer<int> source = on_device(counted(500, 1));
  Buffer<int> target = on_device(counted(500, 100));
  const Graph graph = Graph::capture(other_device(), [&] { copy(source, target); });
  EXPECT_EQ(on_host(target), counted(500, 100)) << "capturing does not run the work";
  graph.launch();
  EXPECT_EQ(on_host(target), counted(500, 1));
  copy(on_device(counted(500, 200)), target);
  graph.launch();
  EXPECT_EQ(on_host(target), counted(500, 1));
}

TEST(StreamGraph, survives_failing_work) {
  // A GPU runs the work once to capture it, other devices when it is launched.
  const auto fail = [] { throw Error("no"); };
  EXPECT_THROW(Graph::capture(other_device(), fail).launch(), Error);
  const Buffer<int> data = on_device(counted(50, 1));
  EXPECT_EQ(on_host(data), counted(50, 1));
}

TEST(StreamScope, issues_work_to_the_given_stream) {
  if (other_device().kind != DeviceKind::cuda) GTEST_SKIP() << "needs a GPU";
  const Stream own = Stream::current(other_device());
  const Stream foreign = Stream::make(other_device());
  const Buffer<int> from = on_device(counted(1'000'000, 3));
  Buffer<int> to(from.size(), other_device());
  {
    const StreamScope scope(other_device(), foreign.handle());
    EXPECT_EQ(Stream::current(other_device()).handle(), foreign.handle());
    copy(from, to);  // after the copy to `from`, which was issued to the other stream
  }
  EXPECT_EQ(Stream::current(other_device()).handle(), own.handle());
  EXPECT_EQ(on_host(to), counted(1'000'000, 3));
}

TEST(StreamScope, refuses_what_is_no_stream_of_the_device) {
  EXPECT_THROW(StreamScope(Device::cpu(), nullptr), ArgumentError);
  if (other_device().kind != DeviceKind::cuda) return;
  EXPECT_THROW(StreamScope(other_device(), nullptr), ArgumentError);
}

}  // namespace weft::test
