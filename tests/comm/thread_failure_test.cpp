// Errors of thread ranks when one of them fails with calls in progress, leaves early or makes a
// different call: all ranks learn at once which one it was, and why.

#include <weft/comm/launch.hpp>
#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include "comm/thread_transport.hpp"
#include "support/operator_new.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {
namespace {

using Call = std::function<void(const Comm&)>;
using Clock = std::chrono::steady_clock;

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// An error type of the user.
class Boom : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The error of a rank.
struct RankError {
  int rank = 0;
  int failed_rank = -1;
  std::string text;
};

/// Runs `body` on threads, with or without checked calls. Collects the CommErrors that end it,
/// which must occur within two seconds.
std::vector<RankError> errors_of(int ranks, bool checking, const Call& body) {
  std::mutex mutex;
  std::vector<RankError> errors;
  const auto start = Clock::now();
  const auto record = [&](const Comm& comm) {
    comm.check_calls(checking);
    try {
      body(comm);
    } catch (const AbortedError& error) {
      const std::lock_guard lock(mutex);
      errors.push_back({comm.rank(), error.failed_rank(), error.reason()});
      throw;
    } catch (const CommError& error) {
      const std::lock_guard lock(mutex);
      errors.push_back({comm.rank(), comm.rank(), error.what()});
      throw;
    }
  };
  EXPECT_ANY_THROW(run_threads(ranks, record));
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), 2.0);
  return errors;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Named {
  const char* name;
  Call call;
};

/// Calls that wait for all other ranks, or for the last one.
std::vector<Named> waits() {
  const auto last = [](const Comm& comm) { return comm.size() - 1; };
  return {
      {"barrier", [](const Comm& comm) { comm.barrier(); }},
      {"allreduce", [](const Comm& comm) { comm.allreduce(1.0); }},
      {"allreduce",
       [](const Comm& comm) {
         std::vector<double> data(10'000);
         comm.allreduce(data);
       }},
      {"allreduce",
       [](const Comm& comm) {
         std::vector<double> data(1);
         Request request = comm.start_allreduce(data, data);
         while (!request.test()) std::this_thread::yield();
       }},
      {"broadcast",
       [=](const Comm& comm) {
         std::vector<double> data(10'000);
         comm.broadcast(data, last(comm));
       }},
      {"recv",
       [=](const Comm& comm) {
         std::vector<int> data(1);
         comm.recv(data, last(comm));
       }},
      {"send",
       [=](const Comm& comm) {
         const std::vector<int> data(1000);
         comm.send(data, last(comm));
       }},
      {"recv",
       [=](const Comm& comm) {
         const std::vector<int> out(10);
         std::vector<int> in(10);
         MessageBatch batch(comm);
         batch.send(out, last(comm)).recv(in, last(comm));
         batch.run();
       }},
      {"split", [](const Comm& comm) { static_cast<void>(comm.split(0)); }},
      {"agree", [](const Comm& comm) { comm.agree(); }},
      {"barrier",
       [](const Comm& comm) {
         std::vector<Request> begun;
         for (int call = 0; call < 20; ++call) begun.push_back(comm.start_barrier());
       }},
  };
}

}  // namespace

// Errors with calls in progress

TEST(ThreadFailure, with_calls_in_progress_reports_the_cause) {
  const auto reduce_some = [](std::size_t count) {
    return [=](const Comm& comm) {
      std::vector<double> data(count);
      const Request request = comm.start_allreduce(data, data);
      throw Boom("the disk is full");
    };
  };
  const Call exchange = [](const Comm& comm) {
    std::vector<double> in(100);
    const std::vector<double> out(100);
    const Request receiving = comm.start_recv(in, 0);
    const Request sending = comm.start_send(out, 0);
    throw Boom("the disk is full");
  };
  const Call exchange_in_a_batch = [](const Comm& comm) {
    std::vector<double> in(100);
    const std::vector<double> out(100);
    MessageBatch batch(comm);
    batch.send(out, 0).recv(in, 0);
    batch.start();
    throw Boom("the disk is full");
  };
  struct Beginning {
    Call begin;
    bool messages;
  };
  for (const auto& [begin, messages] :
       {Beginning{reduce_some(1), false}, Beginning{reduce_some(10'000), false},
        Beginning{exchange, true}, Beginning{exchange_in_a_batch, true}}) {
    for (const Named& wait : waits()) {
      // A message that does not match it.
      const std::string name = wait.name;
      if (messages == (name == "send" || name == "recv")) continue;
      const std::vector<RankError> errors = errors_of(3, false, [&](const Comm& comm) {
        if (comm.rank() == 2) {
          sleep_ms(5);
          begin(comm);
        }
        wait.call(comm);
        comm.barrier();
      });
      EXPECT_EQ(errors.size(), 2U) << name;
      for (const RankError& each : errors) {
        EXPECT_EQ(each.failed_rank, 2) << name;
        EXPECT_EQ(each.text, "the disk is full") << name;
      }
    }
  }
}

TEST(ThreadFailure, with_a_call_begun_by_all_reports_the_cause) {
  for (int round = 0; round < 50; ++round) {
    const std::vector<RankError> errors = errors_of(4, round % 2 == 0, [&](const Comm& comm) {
      std::vector<double> data(20'000);
      std::vector<Request> begun;
      for (int call = 0;; ++call) {
        begun.push_back(comm.start_allreduce(data, data));
        if (comm.rank() == round % 4 && call == 3) throw Boom("the disk is full");
        if (call % 2 == 1) begun.clear();
      }
    });
    EXPECT_EQ(errors.size(), 3U);
    for (const RankError& each : errors) {
      EXPECT_EQ(each.failed_rank, round % 4);
      EXPECT_EQ(each.text, "the disk is full");
    }
  }
}

TEST(ThreadFailure, caught_with_a_call_in_progress_is_thrown_by_the_next_call) {
  const std::vector<RankError> errors = errors_of(3, false, [](const Comm& comm) {
    std::vector<double> data(10'000);
    try {
      const Request request = comm.start_allreduce(data, data);
      if (comm.rank() == 1) throw Boom("never mind");
    } catch (const Boom&) {
      sleep_ms(20);
    }
    comm.barrier();
  });
  EXPECT_EQ(errors.size(), 3U);
  for (const RankError& each : errors) {
    EXPECT_EQ(each.failed_rank, 1);
    EXPECT_TRUE(contains(each.text, "allreduce unfinished")) << each.text;
  }
}

TEST(ThreadFailure, caught_with_a_call_in_progress_is_thrown_at_the_end) {
  try {
    run_threads(2, [](const Comm& comm) {
      std::vector<int> data(1);
      if (comm.rank() == 1) return;
      try {
        const Request request = comm.start_recv(data, 0);
        throw Boom("never mind");
      } catch (const Boom&) {
      }
    });
    ADD_FAILURE() << "no exception was thrown";
  } catch (const CommError& error) {
    EXPECT_TRUE(contains(error.what(), "recv unfinished")) << error.what();
  }
}

TEST(ThreadFailure, caught_by_a_rank_without_further_calls_does_not_block_others) {
  std::atomic<double> seconds = -1;
  std::atomic<bool> done = false;
  const auto start = Clock::now();
  EXPECT_THROW(run_threads(2,
                           [&](const Comm& comm) {
                             std::vector<int> data(1);
                             try {
                               if (comm.rank() == 1) comm.barrier();
                             } catch (const AbortedError& error) {
                               EXPECT_EQ(error.failed_rank(), 0);
                               seconds =
                                   std::chrono::duration<double>(Clock::now() - start).count();
                               done = true;
                               throw;
                             }
                             try {
                               const Request request = comm.start_recv(data, 1);
                               throw Boom("never mind");
                             } catch (const Boom&) {
                               while (!done) sleep_ms(1);
                             }
                           }),
               CommError);
  EXPECT_LT(seconds, 2.0);
}

// Memory

TEST(ThreadFailure, to_allocate_a_receive_does_not_change_the_queue) {
  if (!replaces_operator_new) GTEST_SKIP() << "sanitizers replace operator new";
  detail::ExpectedMessages queue;
  bool failed = false;
  set_allocation_hook([] { throw std::bad_alloc(); });
  try {
    for (int i = 0; i < 100; ++i) queue.push({});
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  set_allocation_hook(nullptr);
  EXPECT_TRUE(failed);
  const std::uint64_t before = queue.begun;
  queue.push({});
  EXPECT_EQ(queue.begun, before + 1);
  EXPECT_EQ(before, 4U) << "the capacity that is allocated at construction";
}

// Requests that fail without being waited for

namespace {

/// Rank 1 of 3 aborts after the others have begun a call, which they drop before `then`.
void drop_a_request(bool in_a_part, const Call& then) {
  std::atomic<int> begun = 0;
  run_threads(3, [&](const Comm& comm) {
    std::vector<double> data(10'000, 1.0);
    const Comm part = in_a_part ? comm.split(0) : comm;
    if (comm.rank() == 1) {
      while (begun < 2) std::this_thread::yield();
      comm.abort("no more");
      return;
    }
    {
      const Request request = part.start_allreduce(data, data);
      ++begun;
    }
    // Here the program would continue with wrong data.
    then(comm);
  });
}

}  // namespace

TEST(ThreadFailure, of_a_dropped_request_is_thrown_at_the_end) {
  for (const bool in_a_part : {false, true}) {
    try {
      drop_a_request(in_a_part, [](const Comm&) {});
      ADD_FAILURE() << "no exception was thrown";
    } catch (const AbortedError& error) {
      EXPECT_EQ(error.failed_rank(), 1);
      EXPECT_EQ(error.reason(), "no more");
    }
  }
}

TEST(ThreadFailure, of_a_dropped_request_is_thrown_once) {
  drop_a_request(false, [](const Comm& comm) {
    EXPECT_THROW(comm.barrier(), AbortedError);
    EXPECT_THROW(comm.barrier(), AbortedError) << "calls keep failing";
  });
}

TEST(ThreadFailure, of_a_dropped_request_is_known_to_the_communicator) {
  // With one rank, no other rank records the failure.
  const Comm comm = Comm::self();
  std::vector<int> data(1);
  const Comm copy = comm;
  { const Request request = comm.dup().start_recv(data, 0); }
  const auto expect_reason = [&](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "no exception was thrown";
    } catch (const CommError& error) {
      EXPECT_TRUE(contains(error.what(), "no matching send or receive")) << error.what();
    }
  };
  expect_reason([&] { copy.throw_held_error(); });
  expect_reason([&] { comm.barrier(); });
  expect_reason([&] { comm.agree(); });
  expect_reason([&] { comm.agree_on(1, [] { return "one"; }); });
  expect_reason([&] { static_cast<void>(comm.split(0)); });
  expect_reason([&] { static_cast<void>(comm.start_send(data, 0)); });
  comm.throw_held_error();  // it has been thrown
}

TEST(ThreadFailure, by_abort_that_no_rank_sees_is_thrown_at_the_end) {
  try {
    run_threads(3, [](const Comm& comm) {
      if (comm.rank() == 1) comm.abort("no more");
    });
    ADD_FAILURE() << "no exception was thrown";
  } catch (const AbortedError& error) {
    EXPECT_EQ(error.failed_rank(), 1);
    EXPECT_EQ(error.reason(), "no more");
  }
}

// Ranks that leave early

TEST(ThreadFailure, by_leaving_early_is_detected_at_once) {
  for (const bool checking : {false, true}) {
    for (const Named& wait : waits()) {
      const std::vector<RankError> errors = errors_of(3, checking, [&](const Comm& comm) {
        if (comm.rank() == 2) return;
        if (comm.rank() == 1) sleep_ms(5);
        wait.call(comm);
        comm.barrier();
      });
      EXPECT_EQ(errors.size(), 2U) << wait.name;
      for (const RankError& each : errors) {
        EXPECT_EQ(each.failed_rank, 2);
        EXPECT_TRUE(contains(each.text, "it left the program while rank ")) << each.text;
        EXPECT_TRUE(contains(each.text, std::string("was waiting for it in ") + wait.name))
            << wait.name << ": " << each.text;
      }
    }
  }
}

TEST(ThreadFailure, by_leaving_early_is_detected_in_split_communicators) {
  const std::vector<RankError> errors = errors_of(4, false, [](const Comm& comm) {
    const Comm pair = comm.split(comm.rank() / 2, -comm.rank());
    if (comm.rank() == 2) return;
    if (comm.rank() == 3) pair.barrier();
    comm.recv(std::vector<int>(1), 3);
  });
  EXPECT_EQ(errors.size(), 3U);
  for (const RankError& each : errors) {
    EXPECT_EQ(each.failed_rank, 2);
    EXPECT_EQ(each.text, "it left the program while rank 3 was waiting for it in barrier");
  }
}

TEST(ThreadFailure, is_not_raised_by_leaving_after_the_last_call) {
  for (int round = 0; round < 300; ++round) {
    run_threads(4, [&](const Comm& comm) {
      std::vector<double> data(round % 2 == 0 ? 3 : 3000, 1.0);
      comm.allreduce(data);
      EXPECT_EQ(data[2], 4.0);
      // In turn: the first rank is gone when the last two communicate.
      std::vector<int> token(1, 7);
      if (comm.rank() > 0) comm.recv(token, comm.rank() - 1);
      if (comm.rank() < 3) comm.send(token, comm.rank() + 1);
      EXPECT_EQ(token[0], 7);
    });
  }
  run_threads(4, [](const Comm& comm) {
    const Comm part = comm.split(comm.rank() == 0 ? 0 : 1);
    if (comm.rank() == 0) return;
    sleep_ms(5);
    EXPECT_EQ(part.allreduce(1), 3);
  });
}

TEST(ThreadFailure, by_leaving_early_fails_the_run) {
  try {
    run_threads(2, [](const Comm& comm) {
      if (comm.rank() == 0) comm.allreduce(1.0);
    });
    ADD_FAILURE() << "no exception was thrown";
  } catch (const AbortedError& error) {
    EXPECT_STREQ(error.what(),
                 "rank 1 failed: it left the program while rank 0 was waiting for it in allreduce");
  }
}

// Ranks that make different calls, without checked calls

namespace {

Call reduce_to(ReduceOp op, int root, std::size_t count) {
  return [=](const Comm& comm) {
    const std::vector<double> in(count, 1.0);
    std::vector<double> out(count);
    comm.reduce(in, out, op, root);
  };
}

}  // namespace

TEST(ThreadFailure, by_different_calls_names_both_on_all_ranks) {
  struct Pair {
    Call usual;
    Call other;
    const char* usual_name;
    const char* other_name;
  };
  const Call sum_one = [](const Comm& comm) { comm.allreduce(1.0); };
  const Call product_of_one = [](const Comm& comm) { comm.allreduce(1.0, ReduceOp::prod); };
  const Call barrier = [](const Comm& comm) { comm.barrier(); };
  const std::vector<Pair> pairs = {
      {reduce_to(ReduceOp::sum, 31, 1000), reduce_to(ReduceOp::prod, 0, 1000),
       "reduce(f64, sum, root 31, count 1000)", "reduce(f64, prod, root 0, count 1000)"},
      {reduce_to(ReduceOp::prod, 1, 1000), reduce_to(ReduceOp::sum, 32, 1000),
       "reduce(f64, prod, root 1, count 1000)", "reduce(f64, sum, root 32, count 1000)"},
      {reduce_to(ReduceOp::sum, 0, 1001), reduce_to(ReduceOp::sum, 31, 1000),
       "reduce(f64, sum, root 0, count 1001)", "reduce(f64, sum, root 31, count 1000)"},
      {sum_one, product_of_one, "allreduce(f64, sum, count 1)", "allreduce(f64, prod, count 1)"},
      {sum_one, barrier, "allreduce(f64, sum, count 1)", "barrier()"},
  };
  for (const Pair& pair : pairs) {
    for (const int culprit : {0, 31}) {
      const std::vector<RankError> errors = errors_of(33, false, [&](const Comm& comm) {
        (comm.rank() == culprit ? pair.other : pair.usual)(comm);
        comm.barrier();
      });
      EXPECT_EQ(errors.size(), 33U);
      for (const RankError& each : errors) {
        EXPECT_TRUE(contains(each.text, pair.usual_name)) << each.text;
        EXPECT_TRUE(contains(each.text, pair.other_name)) << each.text;
        EXPECT_TRUE(contains(each.text, "rank " + std::to_string(culprit) + " calls")) << each.text;
      }
    }
  }
}

// Time limits. They are read once per process, so each test runs in its own process.

namespace {

[[noreturn]] void wait_for_two_of_four() {
  setenv("WEFT_TIMEOUT", "0.3", 1);
  int code = 1;
  try {
    run_threads(4, [](const Comm& comm) {
      if (comm.rank() % 2 != 0) sleep_ms(1500);
      comm.allreduce(1);
    });
  } catch (const TimeoutError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 0;
  }
  std::_Exit(code);
}

[[noreturn]] void begin_with_a_senseless_limit() {
  setenv("WEFT_TIMEOUT", "soon", 1);
  try {
    run_threads(1, [](const Comm&) {});
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(0);
  }
  std::_Exit(1);
}

}  // namespace

TEST(ThreadFailureDeathTest, by_timeout_names_missing_ranks) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(wait_for_two_of_four(), testing::ExitedWithCode(0),
              "^waited 0.3 s for ranks 1, 3 in allreduce.*WEFT_TIMEOUT");
}

TEST(ThreadFailureDeathTest, to_parse_the_time_limit_is_reported_before_waits) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(begin_with_a_senseless_limit(), testing::ExitedWithCode(0),
              "WEFT_TIMEOUT must be .*, got 'soon'");
}

}  // namespace weft::test
