#include "comm/device_route.hpp"

#include <weft/core/error.hpp>

#include "comm/comm_state.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

using namespace weft::detail;

/// Ranks of one host with these GPUs, in a build with all libraries.
std::vector<RouteFacts> on_gpus(const std::vector<int>& gpus) {
  std::vector<RouteFacts> ranks;
  for (const int gpu : gpus) {
    RouteFacts facts;
    facts.machine = 1;
    facts.gpu = static_cast<std::uint64_t>(gpu);
    facts.nccl_version = 22809;
    facts.connections = 32;
    ranks.push_back(facts);
  }
  return ranks;
}

std::vector<RouteFacts> asking(std::vector<RouteFacts> ranks, RouteRequest request) {
  for (RouteFacts& rank : ranks) rank.request = request;
  return ranks;
}

void expect_refused(std::string_view host, const std::vector<RouteFacts>& ranks,
                    const std::vector<std::string>& words) {
  try {
    const Route route = choose_route(host, ranks);
    ADD_FAILURE() << "took " << route.name;
  } catch (const AgreedError& error) {
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

/// Records the calls it receives.
class RecordingTransport final : public Transport {
 public:
  RecordingTransport(std::string name, std::vector<std::string>& calls)
      : Transport(0, 1), name_(std::move(name)), calls_(calls) {}

  std::string_view name() const override { return name_; }
  bool accepts(Device) const override { return true; }
  std::shared_ptr<Transport> split(int, int) override { return nullptr; }

  Ticket barrier(CallMode) override { return record("barrier"); }
  Ticket broadcast(BufferRef, int, CallMode) override { return record("broadcast"); }
  Ticket allreduce(ConstBufferRef, BufferRef, ReduceOp, CallMode) override {
    return record("allreduce");
  }
  Ticket reduce(ConstBufferRef, BufferRef, ReduceOp, int, CallMode) override {
    return record("reduce");
  }
  Ticket reduce_scatter(ConstBufferRef, const Parts&, BufferRef, ReduceOp, CallMode) override {
    return record("reduce_scatter");
  }
  Ticket all_gather(ConstBufferRef, BufferRef, const Parts&, CallMode) override {
    return record("all_gather");
  }
  Ticket gather(ConstBufferRef, BufferRef, const Parts&, int, CallMode) override {
    return record("gather");
  }
  Ticket scatter(ConstBufferRef, const Parts&, BufferRef, int, CallMode) override {
    return record("scatter");
  }
  Ticket all_to_all(ConstBufferRef, const Parts&, BufferRef, const Parts&, CallMode) override {
    return record("all_to_all");
  }
  Ticket send(ConstBufferRef, int) override { return record("send"); }
  Ticket recv(BufferRef, int) override { return record("recv"); }
  void flush() override { record("flush"); }

  bool test(const Ticket&) override { return true; }
  void wait(const Ticket&) override {}
  void abandon(const Ticket&) noexcept override {}
  void abort(const std::string&) noexcept override {}

 private:
  Ticket record(const char* call) {
    calls_.push_back(name_ + " " + call);
    return {};
  }

  std::string name_;
  std::vector<std::string>& calls_;
};

}  // namespace

// Otherwise a rank could block in a host call while a peer waits for its GPU message.
TEST(DeviceRoute, issues_gpu_messages_before_calls_on_the_host) {
  std::vector<std::string> calls;
  const auto state = std::make_shared<CommState>();
  state->transport = std::make_shared<RecordingTransport>("host", calls);
  state->gpu_transport = std::make_shared<RecordingTransport>("gpu", calls);
  const Comm comm = CommAccess::make(state, Device::cpu());
  for (const bool checked : {false, true}) {
    comm.check_calls(checked);
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { comm.barrier(); }, [&] { comm.agree(); }, [&] { comm.allreduce(1); }}) {
      calls.clear();
      call();
      std::erase(calls, "host flush");
      ASSERT_GE(calls.size(), 2U);
      EXPECT_EQ(calls.front(), "gpu flush") << "before " << calls[1];
    }
  }
}

TEST(DeviceRoute, of_one_rank_is_self) {
  EXPECT_EQ(choose_route("mpi", on_gpus({0})).name, "self");
}

TEST(DeviceRoute, of_processes_on_one_gpu_is_fast) {
  EXPECT_EQ(choose_route("mpi", on_gpus({0, 0, 0})).name, "fast");
}

TEST(DeviceRoute, of_threads_on_one_gpu_is_fast) {
  EXPECT_EQ(choose_route("thread", on_gpus({0, 0, 0})).name, "fast");
}

TEST(DeviceRoute, of_threads_that_share_hardware_queues_is_direct) {
  auto ranks = on_gpus({0, 0, 0});
  ranks[1].connections = 8;
  const Route route = choose_route("thread", ranks);
  EXPECT_EQ(route.name, "thread");
  EXPECT_NE(route.reason.find("CUDA_DEVICE_MAX_CONNECTIONS"), std::string::npos) << route.reason;
}

TEST(DeviceRoute, of_some_threads_of_a_process_is_direct_unless_requested) {
  auto ranks = on_gpus({0, 0});
  for (RouteFacts& rank : ranks) rank.others = 1;
  const Route route = choose_route("thread", ranks);
  EXPECT_EQ(route.name, "thread");
  EXPECT_NE(route.reason.find("not in the communicator"), std::string::npos) << route.reason;
  EXPECT_EQ(choose_route("thread", asking(ranks, RouteRequest::fast)).name, "fast");
}

TEST(DeviceRoute, of_processes_where_fast_fails_is_staged) {
  const Route route = choose_route("mpi", on_gpus({0, 0}), "they take turns");
  EXPECT_EQ(route.name, "staged");
  EXPECT_NE(route.reason.find("not 'fast': they take turns"), std::string::npos) << route.reason;
}

TEST(DeviceRoute, is_not_fast_where_that_is_forbidden) {
  auto ranks = on_gpus({0, 0});
  ranks[1].fast_allowed = 0;
  EXPECT_EQ(choose_route("thread", ranks).name, "thread");
  EXPECT_EQ(choose_route("mpi", ranks).name, "staged");
}

TEST(DeviceRoute, of_ranks_with_gpus_of_their_own_is_nccl) {
  EXPECT_EQ(choose_route("thread", on_gpus({0, 1})).name, "nccl");
  const Route route = choose_route("mpi", on_gpus({0, 1, 2, 3}));
  EXPECT_EQ(route.name, "nccl");
  EXPECT_NE(route.reason.find("2.28.9"), std::string::npos) << route.reason;
}

TEST(DeviceRoute, distinguishes_gpus_of_different_hosts) {
  auto ranks = on_gpus({0, 0});
  ranks[1].machine = 2;
  EXPECT_EQ(choose_route("mpi", ranks).name, "nccl");
}

TEST(DeviceRoute, of_processes_that_share_a_gpu_is_staged) {
  const Route route = choose_route("mpi", on_gpus({0, 1, 0}));
  EXPECT_EQ(route.name, "staged");
  EXPECT_NE(route.reason.find("ranks 0 and 2 share a GPU"), std::string::npos) << route.reason;
}

TEST(DeviceRoute, without_nccl_is_staged_unless_mpi_is_cuda_aware) {
  auto ranks = on_gpus({0, 1});
  ranks[1].nccl_version = 0;
  EXPECT_EQ(choose_route("thread", ranks).name, "staged");
  EXPECT_EQ(choose_route("mpi", ranks).name, "staged");
  ranks[0].cuda_aware_mpi = 1;
  EXPECT_EQ(choose_route("mpi", ranks).name, "staged");
  ranks[1].cuda_aware_mpi = 1;
  const Route route = choose_route("mpi", ranks);
  EXPECT_EQ(route.name, "mpi");
  EXPECT_NE(route.reason.find("no NCCL"), std::string::npos) << route.reason;
}

TEST(DeviceRoute, can_be_requested) {
  const auto ranks = on_gpus({0, 0});
  EXPECT_EQ(choose_route("mpi", asking(ranks, RouteRequest::staged)).name, "staged");
  EXPECT_EQ(choose_route("mpi", asking(ranks, RouteRequest::none)).name, "none");
  EXPECT_EQ(choose_route("mpi", asking(ranks, RouteRequest::nccl)).name, "nccl");
  auto aware = asking(ranks, RouteRequest::mpi);
  for (RouteFacts& rank : aware) rank.cuda_aware_mpi = 1;
  EXPECT_EQ(choose_route("mpi", aware).name, "mpi");
  EXPECT_EQ(choose_route("thread", asking(ranks, RouteRequest::fast)).name, "fast");
  EXPECT_EQ(choose_route("mpi", asking(ranks, RouteRequest::fast)).name, "fast");
  EXPECT_EQ(choose_route("mpi", asking(on_gpus({0, 1}), RouteRequest::fast)).name, "fast");
}

TEST(DeviceRoute, names_the_option_that_requested_it) {
  auto ranks = asking(on_gpus({0, 0}), RouteRequest::fast);
  EXPECT_EQ(choose_route("mpi", ranks).reason, "set by WEFT_DEVICE_COMM");
  for (RouteFacts& rank : ranks) rank.by_option = 1;
  EXPECT_EQ(choose_route("mpi", ranks).reason, "set by --comm fast");
  ranks[1].machine = 2;
  expect_refused("mpi", ranks, {"--comm fast: ranks 0 and 1 are on different machines"});
}

TEST(DeviceRoute, of_a_process_follows_comm_fast) {
  if (settings().device_comm != RouteRequest::automatic || !settings().fast) {
    GTEST_SKIP() << "WEFT_DEVICE_COMM or WEFT_FAST is set";
  }
  set_comm_fast();
  EXPECT_EQ(route_request(), RouteRequest::fast);
  clear_comm_fast();
  EXPECT_EQ(route_request(), RouteRequest::automatic);
}

TEST(DeviceRoute, tells_whether_graphs_can_capture_calls) {
  EXPECT_TRUE(choose_route("thread", on_gpus({0})).capturable);
  EXPECT_TRUE(choose_route("mpi", on_gpus({0, 1})).capturable) << "NCCL";
  auto direct = on_gpus({0, 0});
  direct[0].fast_allowed = 0;
  EXPECT_FALSE(choose_route("thread", direct).capturable);
  const auto fast = asking(on_gpus({0, 0}), RouteRequest::fast);
  EXPECT_TRUE(choose_route("thread", fast).capturable);
  EXPECT_FALSE(choose_route("mpi", fast).capturable) << "messages are staged";
}

TEST(DeviceRoute, refuses_impossible_requests) {
  auto apart = asking(on_gpus({0, 1, 0}), RouteRequest::fast);
  apart[2].machine = 2;
  expect_refused("mpi", apart, {"ranks 0 and 2 are on different machines"});
  auto few = asking(on_gpus({0, 0}), RouteRequest::fast);
  few[1].connections = 8;
  expect_refused("thread", few, {"CUDA_DEVICE_MAX_CONNECTIONS=32"});
  EXPECT_EQ(choose_route("mpi", few).name, "fast") << "processes have queues of their own";
  auto forbidden = asking(on_gpus({0, 0}), RouteRequest::fast);
  forbidden[1].fast_allowed = 0;
  expect_refused("thread", forbidden, {"WEFT_FAST=0 on rank 1"});
  auto differing = asking(on_gpus({0, 0, 0}), RouteRequest::fast);
  differing[2].table = 7;
  expect_refused("mpi", differing, {"WEFT_TABLE", "ranks 0 and 2"});
  const std::vector<int> many(17, 0);
  expect_refused("thread", asking(on_gpus(many), RouteRequest::fast), {"17 ranks", "at most 16"});
  auto old = asking(on_gpus({0, 1}), RouteRequest::nccl);
  old[1].nccl_version = 21403;
  expect_refused("mpi", old, {"NCCL 2.14.3", "rank 1", "2.18.0"});
  old[1].nccl_version = 0;
  expect_refused("mpi", old, {"no NCCL"});
  expect_refused("thread", asking(on_gpus({0, 0}), RouteRequest::nccl), {"ranks 0 and 1", "share"});
  expect_refused("mpi", asking(on_gpus({0, 1}), RouteRequest::mpi), {"not CUDA-aware"});
  expect_refused("thread", asking(on_gpus({0, 1}), RouteRequest::mpi), {"'thread'"});
  auto mixed = on_gpus({0, 1, 2});
  mixed[2].request = RouteRequest::staged;
  expect_refused("mpi", mixed, {"ranks 0 and 2"});
}

TEST(DeviceRoute, is_reported_by_the_communicator) {
  on_ranks([](Comm comm) {
    EXPECT_EQ(comm.route(Device::cpu()).name, comm.transport());
    const Route route = comm.route(other_device());
    EXPECT_FALSE(route.reason.empty());
    EXPECT_EQ(comm.dup().route(other_device()).name, route.name);
    if (other_device() == Device::debug()) {
      EXPECT_EQ(route.name, comm.transport() == "mpi" ? "staged" : comm.transport());
      EXPECT_EQ(comm.route(Device::cuda()).name, comm.size() == 1 ? "self" : "staged")
          << "until a GPU is chosen";
    }
  });
}

TEST(DeviceRoute, of_parts_does_not_wait_for_other_threads) {
  if (other_device().kind != DeviceKind::cuda) GTEST_SKIP() << "needs WEFT_TEST_DEVICE=cuda";
  on_ranks([](Comm comm) {
    const Comm part = comm.split(comm.rank() % 2, comm.rank());
    const Route whole = comm.route(Device::cuda());
    const Route route = part.route(Device::cuda());
    const bool leaves = whole.name == "fast" && comm.transport() == "thread" &&
                        settings().device_comm == RouteRequest::automatic;
    EXPECT_EQ(route.name, part.size() == 1 ? "self" : leaves ? "thread" : whole.name);
    EXPECT_EQ(comm.dup().route(Device::cuda()).name, whole.name);
  });
}

TEST(DeviceRoute, refuses_missing_gpus) {
  on_ranks([](Comm comm) {
    EXPECT_THROW(static_cast<void>(comm.on(Device::cuda(9999))), DeviceError);
    EXPECT_THROW(static_cast<void>(comm.on(Device::cuda(-1))), DeviceError);
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

TEST(DeviceRoute, host_and_device_do_not_mix_in_a_call) {
  on_ranks([](Comm comm) {
    const std::vector<double> here(10, 1.0);
    Buffer<double> there(10, other_device());
    try {
      comm.allreduce(here, there);
      ADD_FAILURE();
    } catch (const ArgumentError& error) {
      EXPECT_NE(std::string(error.what()).find("in is on cpu"), std::string::npos) << error.what();
    }
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

TEST(DeviceRoute, host_and_device_do_not_mix_between_ranks) {
  if (ranks() == 1) GTEST_SKIP() << "one rank cannot disagree";
  on_ranks([](Comm comm) {
    comm.check_calls(true);
    std::vector<double> here(10, 1.0);
    Buffer<double> there(10, other_device());
    const BufferRef memory = comm.rank() == 0 ? BufferRef(here) : BufferRef(there);
    EXPECT_THROW(comm.allreduce(memory), AgreedError);
    EXPECT_EQ(comm.allreduce(1), comm.size());
  });
}

}  // namespace weft::test
