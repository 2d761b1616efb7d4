#include <weft/comm/comm.hpp>
#include <weft/comm/message_batch.hpp>

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

template <class T>
concept CanBroadcast = requires(const Comm& comm, T data) {
  comm.broadcast(std::forward<T>(data), 0);
};
template <class T>
concept CanReduceFrom = requires(const Comm& comm, T in, std::vector<double>& out) {
  comm.allreduce(std::forward<T>(in), out);
};
template <class T>
concept CanStartBroadcast = requires(const Comm& comm, T data) {
  comm.start_broadcast(std::forward<T>(data), 0);
};
template <class T>
concept CanStartReduceFrom = requires(const Comm& comm, T in, std::vector<double>& out) {
  comm.start_allreduce(std::forward<T>(in), out);
};
template <class T>
concept CanStartReduceTo = requires(const Comm& comm, const std::vector<double>& in, T out) {
  comm.start_allreduce(in, std::forward<T>(out));
};
template <class T>
concept CanStartMessages = requires(const Comm& comm, T data) {
  comm.start_send(std::forward<T>(data), 0);
  comm.start_recv(std::forward<T>(data), 0);
};
template <class T>
concept CanBatch = requires(MessageBatch& batch, T data) {
  batch.send(std::forward<T>(data), 0).recv(std::forward<T>(data), 0);
};
template <class P>
concept CanStartGatherWith = requires(const Comm& comm, std::vector<double>& data, P parts) {
  comm.start_all_gather_v(data, data, std::forward<P>(parts));
};

using Vector = std::vector<double>;
using Array = std::array<double, 3>;

// Blocking calls may read from and write to temporaries.
static_assert(CanBroadcast<Vector&> && CanReduceFrom<Vector> && CanReduceFrom<Array>);

// Nonblocking calls and batches take named containers, views and references to memory.
static_assert(CanStartBroadcast<Vector&> && CanStartBroadcast<Array&>);
static_assert(CanStartBroadcast<Buffer<double>&> && CanStartBroadcast<std::span<double>>);
static_assert(CanStartBroadcast<BufferRef>);
static_assert(CanStartReduceFrom<const Vector&> && CanStartReduceFrom<ConstBufferRef>);
static_assert(CanStartReduceFrom<BufferRef> && CanStartReduceFrom<std::span<const double>>);
static_assert(CanStartReduceFrom<const Buffer<double>&>);
static_assert(CanStartMessages<Vector&> && CanStartMessages<std::span<double>>);
static_assert(CanBatch<Vector&> && CanBatch<Buffer<double>&>);
static_assert(CanStartGatherWith<Parts&> && CanStartGatherWith<const Parts&>);

// They refuse temporaries, whose memory would be released before the call is complete.
static_assert(!CanStartBroadcast<Vector> && !CanStartBroadcast<Array>);
static_assert(!CanStartBroadcast<Buffer<double>>);
static_assert(!CanStartReduceFrom<Vector> && !CanStartReduceFrom<const Vector>);
static_assert(!CanStartReduceFrom<Buffer<double>> && !CanStartReduceFrom<Array>);
static_assert(!CanStartReduceTo<Vector> && !CanStartReduceTo<Buffer<double>>);
static_assert(!CanStartMessages<Vector> && !CanBatch<Vector> && !CanBatch<Buffer<double>>);
static_assert(!CanStartGatherWith<Parts>);

// Memory to write to is not const.
static_assert(!CanStartBroadcast<const Vector&> && !CanStartBroadcast<std::span<const double>>);

}  // namespace

TEST(BufferRef, of_nonblocking_calls_refers_to_the_same_memory) {
  std::vector<float> data(5);
  const AsyncBufferRef out(data);
  EXPECT_EQ(out.data, data.data());
  EXPECT_EQ(out.count, 5);
  EXPECT_EQ(out.dtype, DType::f32);
  const AsyncConstBufferRef in = std::span(data).subspan(2, 2);
  EXPECT_EQ(in.data, data.data() + 2);
  EXPECT_EQ(in.count, 2);
  const AsyncConstBufferRef converted(out);
  EXPECT_EQ(converted.data, data.data());
  EXPECT_EQ(converted.bytes(), 20);
}

}  // namespace weft::test
