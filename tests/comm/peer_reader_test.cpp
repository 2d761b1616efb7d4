// Reading the memory of other ranks of the same process.

#include "comm/peer_reader.hpp"

#include <weft/comm/launch.hpp>
#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace weft::test {
namespace {

/// Stands for a GPU transport that collects messages: counts how often it is told to issue them.
class CollectingTransport final : public detail::Transport {
 public:
  CollectingTransport(int rank, int size) : Transport(rank, size) {}

  int flushes = 0;
  void flush() override { ++flushes; }

  std::string_view name() const override { return "collecting"; }
  bool accepts(Device device) const override { return device.kind == DeviceKind::cuda; }
  std::shared_ptr<Transport> split(int, int) override { return nullptr; }
  void abort(const std::string&) noexcept override {}

  // A test that reaches these calls is wrong.
  using Ticket = detail::Ticket;
  using CallMode = detail::CallMode;
  Ticket barrier(CallMode) override { return unexpected(); }
  Ticket broadcast(BufferRef, int, CallMode) override { return unexpected(); }
  Ticket allreduce(ConstBufferRef, BufferRef, ReduceOp, CallMode) override { return unexpected(); }
  Ticket reduce(ConstBufferRef, BufferRef, ReduceOp, int, CallMode) override {
    return unexpected();
  }
  Ticket reduce_scatter(ConstBufferRef, const Parts&, BufferRef, ReduceOp, CallMode) override {
    return unexpected();
  }
  Ticket all_gather(ConstBufferRef, BufferRef, const Parts&, CallMode) override {
    return unexpected();
  }
  Ticket gather(ConstBufferRef, BufferRef, const Parts&, int, CallMode) override {
    return unexpected();
  }
  Ticket scatter(ConstBufferRef, const Parts&, BufferRef, int, CallMode) override {
    return unexpected();
  }
  Ticket all_to_all(ConstBufferRef, const Parts&, BufferRef, const Parts&, CallMode) override {
    return unexpected();
  }
  Ticket send(ConstBufferRef, int) override { return unexpected(); }
  Ticket recv(BufferRef, int) override { return unexpected(); }
  bool test(const Ticket&) override { return true; }
  void wait(const Ticket&) override { unexpected(); }
  void abandon(const Ticket&) noexcept override {}

 private:
  static Ticket unexpected() { throw CommError("this transport only counts flushes"); }
};

/// Copies one number of each peer.
class FirstValues final : public detail::PeerReader {
 public:
  explicit FirstValues(int ranks) : values(static_cast<std::size_t>(ranks)) {}
  void read(int peer, const void* memory) override {
    values[static_cast<std::size_t>(peer)] = *static_cast<const double*>(memory);
  }
  std::vector<double> values;
};

/// One element for each rank.
Parts one_each(int ranks) {
  return Parts(std::vector<index_t>(static_cast<std::size_t>(ranks), 1));
}

TEST(PeerReader, reads_what_every_rank_passes) {
  run_threads(3, [](const Comm& comm) {
    ASSERT_TRUE(detail::shares_memory(comm, Device::cpu()));
    const std::vector<double> mine(3, 10.0 + comm.rank());
    FirstValues reader(comm.size());
    detail::read_peers(comm, mine, one_each(3), one_each(3), reader);
    EXPECT_EQ(reader.values, (std::vector<double>{10, 11, 12}));
  });
}

// A rank that reads its peers waits for them. They may wait for messages that this rank has only
// collected.
TEST(PeerReader, issues_collected_messages_before_it_waits) {
  run_threads(2, [](const Comm& world) {
    const Comm comm = world.dup();
    const auto gpu = std::make_shared<CollectingTransport>(comm.rank(), comm.size());
    detail::CommAccess::state(comm)->gpu_transport = gpu;
    const std::vector<double> mine(2, 1.0);

    FirstValues reader(comm.size());
    detail::read_peers(comm, mine, one_each(2), one_each(2), reader);
    EXPECT_EQ(gpu->flushes, 1);

    double received = 0;
    const Request send = comm.start_send(ConstBufferRef(mine.data(), 1), 1 - comm.rank());
    detail::start_read(comm, BufferRef(&received, 1), 1 - comm.rank(), reader).wait();
    EXPECT_GE(gpu->flushes, 2);
  });
}

}  // namespace
}  // namespace weft::test
