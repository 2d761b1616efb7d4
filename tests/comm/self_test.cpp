// Messages of a rank to itself on Comm::self(). Errors leave the communicator usable.

#include <weft/comm/comm.hpp>
#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace weft::test {

TEST(Self, a_message_of_the_wrong_size_is_dropped) {
  const Comm comm = Comm::self();
  const std::vector<int> one = {7};
  std::vector<int> two(2);
  Request receiving = comm.start_recv(two, 0);
  EXPECT_THROW(static_cast<void>(comm.start_send(one, 0)), CommError);
  receiving.wait();

  Request sending = comm.start_send(one, 0);
  EXPECT_FALSE(sending.test()) << "nothing has received it";
  std::vector<int> in(1);
  comm.recv(in, 0);
  EXPECT_TRUE(sending.test());
  EXPECT_EQ(in, one);
}

TEST(Self, a_message_without_receive_is_dropped) {
  const Comm comm = Comm::self();
  const std::vector<int> lost = {1};
  const std::vector<int> out = {2};
  std::vector<int> in(1);
  EXPECT_THROW(comm.send(lost, 0), CommError);
  comm.sendrecv(out, 0, in, 0);
  EXPECT_EQ(in, out);
}

TEST(Self, a_dropped_message_does_not_affect_others) {
  const Comm comm = Comm::self();
  const std::vector<int> lost = {1};
  const std::vector<int> out = {2, 3};
  std::vector<int> in(2);
  Request first = comm.start_send(lost, 0);
  Request second = comm.start_send(out, 0);
  EXPECT_THROW(first.wait(), CommError);
  EXPECT_FALSE(second.test());
  comm.recv(in, 0);
  second.wait();
  EXPECT_EQ(in, out);
}

TEST(Self, a_batch_that_failed_can_be_started_again) {
  const Comm comm = Comm::self();
  const std::vector<int> one = {7};
  std::vector<int> two(2);
  MessageBatch batch(comm);
  batch.recv(two, 0).send(one, 0);
  EXPECT_THROW(batch.start(), CommError);
  EXPECT_THROW(batch.start(), CommError) << "the same error again";
  EXPECT_EQ(comm.allreduce(5), 5);
}

}  // namespace weft::test
