// Statistics of a communicator for known traffic.

#include "support/ranks.hpp"

#include <weft/comm/format.hpp>
#include <weft/comm/message_batch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {
namespace {

struct Expected {
  index_t calls;
  index_t messages;
  index_t bytes;
  index_t smallest;
  index_t largest;
};

void expect_stats(const Stats& stats, CallKind kind, const Expected& expected) {
  const CallStats& seen = stats[kind];
  EXPECT_EQ(seen.calls, expected.calls) << to_string(kind);
  EXPECT_EQ(seen.messages, expected.messages) << to_string(kind);
  EXPECT_EQ(seen.bytes, expected.bytes) << to_string(kind);
  EXPECT_EQ(seen.smallest, expected.smallest) << to_string(kind);
  EXPECT_EQ(seen.largest, expected.largest) << to_string(kind);
}

std::size_t all_of(const Comm& comm) { return static_cast<std::size_t>(comm.size()); }

}  // namespace

TEST(Stats, are_empty_at_first) {
  on_ranks([](Comm comm) {
    const CallStats total = comm.stats().total();
    EXPECT_EQ(total.calls, 0);
    EXPECT_EQ(total.messages, 0);
    EXPECT_EQ(total.bytes, 0);
    EXPECT_EQ(total.seconds, 0.0);
  });
}

TEST(Stats, count_reductions) {
  on_ranks([](Comm comm) {
    const bool alone = comm.size() == 1;
    std::vector<double> ten(10);
    std::vector<float> three(3);
    comm.allreduce(ten);
    comm.allreduce(three);
    comm.allreduce(ten, ReduceOp::max);
    expect_stats(comm.stats(), CallKind::allreduce,
                 alone ? Expected{3, 0, 0, 0, 0} : Expected{3, 3, 172, 12, 80});
    comm.reduce(ten, ten, ReduceOp::sum, 0);
    expect_stats(comm.stats(), CallKind::reduce,
                 alone ? Expected{1, 0, 0, 0, 0} : Expected{1, 1, 80, 80, 80});
    EXPECT_EQ(comm.stats().total().calls, 4);
  });
}

TEST(Stats, count_one_message_per_sent_part) {
  on_ranks([](Comm comm) {
    const index_t others = comm.size() - 1;
    const bool alone = others == 0;
    // Part r has r elements: the empty part of rank 0 is not a message.
    std::vector<index_t> counts;
    index_t all = 0;
    for (int rank = 0; rank < comm.size(); ++rank) {
      counts.push_back(rank);
      all += rank;
    }
    const index_t mine = comm.rank();
    const index_t smallest = comm.size() <= 2 && comm.rank() == 1 ? 0 : comm.rank() == 1 ? 2 : 1;
    const index_t largest = comm.rank() == comm.size() - 1 ? comm.size() - 2 : comm.size() - 1;
    const Expected parts = {1, others - (comm.rank() == 0 ? 0 : 1), (all - mine) * 4,
                            largest < 1 ? 0 : smallest * 4, std::max<index_t>(largest, 0) * 4};

    const Parts sent(counts);
    const Parts received(std::vector<index_t>(all_of(comm), mine));
    const std::vector<float> in(static_cast<std::size_t>(all));
    std::vector<float> out(static_cast<std::size_t>(mine) * all_of(comm));
    comm.all_to_all_v(in, sent, out, received);
    expect_stats(comm.stats(), CallKind::all_to_all, alone ? Expected{1, 0, 0, 0, 0} : parts);

    std::vector<float> part(static_cast<std::size_t>(mine));
    comm.reduce_scatter_v(in, sent, part);
    expect_stats(comm.stats(), CallKind::reduce_scatter, alone ? Expected{1, 0, 0, 0, 0} : parts);

    comm.scatter_v(in, sent, part, 0);
    expect_stats(comm.stats(), CallKind::scatter,
                 alone || comm.rank() != 0 ? Expected{1, 0, 0, 0, 0}
                                           : Expected{1, others, all * 4, 4, others * 4});
  });
}

TEST(Stats, count_messages_of_this_rank) {
  on_ranks([](Comm comm) {
    const bool alone = comm.size() == 1;
    const bool root = comm.rank() == 0;
    const Expected nothing = {1, 0, 0, 0, 0};
    const Expected eight = {1, 1, 8, 8, 8};
    std::vector<double> one(1);
    std::vector<double> all(all_of(comm));
    comm.broadcast(one, 0);
    expect_stats(comm.stats(), CallKind::broadcast, root && !alone ? eight : nothing);
    comm.gather(one, all, 0);
    expect_stats(comm.stats(), CallKind::gather, root ? nothing : eight);
    comm.all_gather(one, all);
    expect_stats(comm.stats(), CallKind::all_gather, alone ? nothing : eight);
    comm.barrier();
    EXPECT_EQ(comm.stats()[CallKind::barrier].calls, 1);
    EXPECT_EQ(comm.stats()[CallKind::barrier].bytes, 0);
    EXPECT_EQ(comm.stats()[CallKind::send].calls, 0);
  });
}

TEST(Stats, count_messages) {
  on_ranks([](Comm comm) {
    const int next = (comm.rank() + 1) % comm.size();
    const int previous = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<std::int16_t> out(100);
    std::vector<std::int16_t> in(100);
    const std::vector<std::int16_t> none;
    std::vector<std::int16_t> nothing;
    comm.sendrecv(out, next, in, previous);
    comm.sendrecv(none, next, nothing, previous);
    MessageBatch batch(comm);
    batch.send(std::span(out).first(7), next).recv(std::span(in).first(7), previous);
    batch.run();
    batch.run();
    expect_stats(comm.stats(), CallKind::send, {4, 4, 228, 0, 200});
    expect_stats(comm.stats(), CallKind::recv, {4, 0, 0, 0, 0});
    const CallStats total = comm.stats().total();
    EXPECT_EQ(total.calls, 8);
    EXPECT_EQ(total.messages, 4);
    EXPECT_EQ(total.bytes, 228);
    EXPECT_EQ(total.smallest, 0);
    EXPECT_EQ(total.largest, 200);
  });
}

TEST(Stats, count_started_calls_like_blocking_ones) {
  on_ranks([](Comm comm) {
    const std::vector<double> in(100);
    std::vector<double> out(100);
    comm.start_allreduce(in, out).wait();
    Request request = comm.start_allreduce(in, out);
    while (!request.test()) std::this_thread::yield();
    expect_stats(comm.stats(), CallKind::allreduce,
                 comm.size() == 1 ? Expected{2, 0, 0, 0, 0} : Expected{2, 2, 1600, 800, 800});
  });
}

TEST(Stats, count_device_memory_like_host_memory) {
  on_ranks([](Comm comm) {
    Buffer<float> data(25, other_device());
    const std::vector<float> zeros(25);
    copy_bytes(data.data(), data.device(), zeros.data(), Device::cpu(), 100);
    comm.allreduce(data, ReduceOp::avg);
    expect_stats(comm.stats(), CallKind::allreduce,
                 comm.size() == 1 ? Expected{1, 0, 0, 0, 0} : Expected{1, 1, 100, 100, 100});
  });
}

TEST(Stats, measure_the_time_of_calls) {
  on_ranks([](Comm comm) {
    using Clock = std::chrono::steady_clock;
    comm.allreduce(1);
    EXPECT_EQ(comm.stats().total().seconds, 0.0);
    comm.time_calls(true);
    comm.barrier();
    comm.reset_stats();
    const auto start = Clock::now();
    // Rank 0 is late, so that the others wait for it.
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comm.allreduce(1);
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    const double seconds = comm.stats()[CallKind::allreduce].seconds;
    EXPECT_GT(seconds, 0.0);
    EXPECT_LE(seconds, elapsed);
    if (comm.rank() != 0 && !comm.checks_calls()) {
      EXPECT_GT(seconds, 0.05);
    }
    EXPECT_EQ(comm.stats()[CallKind::barrier].seconds, 0.0);
    EXPECT_DOUBLE_EQ(comm.stats().total().seconds, seconds);
  });
}

TEST(Stats, measure_the_wait_for_started_calls) {
  on_ranks([](Comm comm) {
    comm.check_calls(false);
    comm.time_calls(true);
    comm.barrier();
    const std::vector<double> in(1000);
    std::vector<double> out(1000);
    if (comm.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Request request = comm.start_allreduce(in, out);
    if (comm.rank() != 0) {
      EXPECT_LT(comm.stats()[CallKind::allreduce].seconds, 0.08);
    }
    request.wait();
    EXPECT_GT(comm.stats()[CallKind::allreduce].seconds, comm.rank() == 0 ? 0.0 : 0.04);
  });
}

TEST(Stats, can_be_reset) {
  on_ranks([](Comm comm) {
    comm.allreduce(1);
    comm.barrier();
    comm.reset_stats();
    EXPECT_EQ(comm.stats().total().calls, 0);
    EXPECT_EQ(comm.stats().total().seconds, 0.0);
    comm.allreduce(std::int8_t{1});
    expect_stats(comm.stats(), CallKind::allreduce,
                 comm.size() == 1 ? Expected{1, 0, 0, 0, 0} : Expected{1, 1, 1, 1, 1});
  });
}

TEST(Stats, can_be_subtracted) {
  on_ranks([](Comm comm) {
    comm.allreduce(1.0);
    comm.time_calls(true);
    const weft::Stats before = comm.stats();
    std::vector<double> four(4);
    comm.allreduce(four);
    comm.allreduce(four);
    comm.barrier();
    const weft::Stats between = comm.stats() - before;
    EXPECT_EQ(between[CallKind::allreduce].calls, 2);
    EXPECT_EQ(between[CallKind::allreduce].bytes, comm.size() == 1 ? 0 : 64);
    EXPECT_EQ(between[CallKind::allreduce].messages, comm.size() == 1 ? 0 : 2);
    EXPECT_EQ(between[CallKind::barrier].calls, 1);
    EXPECT_EQ(between[CallKind::broadcast].calls, 0);
    EXPECT_NEAR(between[CallKind::allreduce].seconds,
                comm.stats()[CallKind::allreduce].seconds - before[CallKind::allreduce].seconds,
                1e-12);
  });
}

TEST(Stats, belong_to_one_communicator) {
  on_ranks([](Comm comm) {
    const Comm copy = comm.dup();
    const Comm handle = comm;
    EXPECT_EQ(comm.stats().total().calls, 0) << "making a communicator is not a call";
    comm.allreduce(1);
    EXPECT_EQ(copy.stats().total().calls, 0);
    EXPECT_EQ(handle.stats().total().calls, 1);
    EXPECT_EQ(comm.on(other_device()).stats().total().calls, 1);
  });
}

TEST(Stats, do_not_count_refused_calls) {
  on_ranks([](Comm comm) {
    std::vector<int> data(1);
    EXPECT_ANY_THROW(comm.broadcast(data, -1));
    EXPECT_ANY_THROW(comm.allreduce(data, ReduceOp::avg));
    EXPECT_EQ(comm.stats().total().calls, 0);
  });
}

TEST(Stats, are_printed_as_a_table_of_the_calls_made) {
  on_ranks([](Comm comm) {
    std::vector<double> data(1234);
    comm.allreduce(data);
    comm.barrier();
    comm.barrier();
    const std::string table = to_string(comm.stats());
    EXPECT_EQ(fmt::format("{}", comm.stats()), table);
    EXPECT_EQ(fmt::format("{} {}", CallKind::allreduce, ReduceOp::sum), "allreduce sum");
    EXPECT_NE(table.find("allreduce"), std::string::npos) << table;
    EXPECT_NE(table.find("barrier"), std::string::npos) << table;
    EXPECT_EQ(table.find("broadcast"), std::string::npos) << table;
    EXPECT_EQ(table.find("send"), std::string::npos) << table;
    if (comm.size() > 1) {
      EXPECT_NE(table.find("9872"), std::string::npos) << table;
    }
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3) << table;
  });
}

TEST(Stats, name_every_kind_of_call) {
  std::vector<std::string> names;
  for (int kind = 0; kind < call_kinds; ++kind) {
    names.emplace_back(to_string(static_cast<CallKind>(kind)));
  }
  const std::vector<std::string> expected = {"barrier",        "broadcast",  "allreduce", "reduce",
                                             "reduce_scatter", "all_gather", "gather",    "scatter",
                                             "all_to_all",     "send",       "recv"};
  EXPECT_EQ(names, expected);
}

}  // namespace weft::test
