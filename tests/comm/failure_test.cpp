// A failure ends the calls of all ranks: none is left waiting for a rank that will not come.

#include "support/ranks.hpp"

#include <weft/comm/launch.hpp>
#include <weft/comm/message_batch.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// An error type of the user.
class Boom : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// How a rank ended.
struct Exit {
  int failed_rank = -1;
  std::string reason;
  double seconds = 0;
};

class Failure : public testing::Test {
 protected:
  void SetUp() override {
    if (world() != World::thread) {
      GTEST_SKIP() << "a failure ends the MPI job, and the test with it";
    }
  }

  /// Runs `wait` on all ranks but `culprit`, which throws a moment later. Returns how the others
  /// ended.
  static std::vector<Exit> others(int ranks, int culprit, const std::function<void(Comm)>& wait) {
    std::mutex mutex;
    std::vector<Exit> exits;
    std::optional<Clock::time_point> thrown;
    std::string seen;
    try {
      run_threads(ranks, [&](Comm comm) {
        if (comm.rank() == culprit) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          const std::lock_guard lock(mutex);
          thrown = Clock::now();
          throw Boom("the disk is full");
        }
        try {
          wait(comm);
        } catch (const AbortedError& error) {
          const std::lock_guard lock(mutex);
          exits.push_back({error.failed_rank(), error.reason(), seconds_since(thrown.value())});
          throw;
        }
      });
    } catch (const Boom& error) {
      seen = error.what();
    }
    EXPECT_EQ(seen, "the disk is full") << "run_threads throws the error that came first";
    return exits;
  }

  static void expect_all_leave(int ranks, int culprit, const std::function<void(Comm)>& wait) {
    const std::vector<Exit> exits = others(ranks, culprit, wait);
    EXPECT_EQ(exits.size(), static_cast<std::size_t>(ranks - 1));
    for (const Exit& each : exits) {
      EXPECT_EQ(each.failed_rank, culprit);
      EXPECT_EQ(each.reason, "the disk is full");
      EXPECT_LT(each.seconds, 2.0);
    }
  }
  /// Runs on teams of several sizes, with the first and with the last rank failing.
  static void expect_all_leave(const std::function<void(Comm)>& wait) {
    for (const int ranks : {2, 3, 5}) {
      expect_all_leave(ranks, 0, wait);
      expect_all_leave(ranks, ranks - 1, wait);
    }
  }
};

}  // namespace

TEST_F(Failure, ends_a_barrier) {
  expect_all_leave([](Comm comm) { comm.barrier(); });
}

TEST_F(Failure, ends_a_small_allreduce) {
  expect_all_leave([](Comm comm) { comm.allreduce(1.0); });
}

TEST_F(Failure, ends_a_large_allreduce) {
  expect_all_leave([](Comm comm) {
    std::vector<double> data(100'000);
    comm.allreduce(data);
  });
}

TEST_F(Failure, ends_the_other_collectives) {
  const std::vector<std::function<void(Comm)>> calls = {
      [](Comm comm) {
        std::vector<double> data(5000);
        comm.broadcast(data, 1);
      },
      [](Comm comm) {
        std::vector<double> in(5000);
        std::vector<double> out(5000);
        comm.reduce(in, out, ReduceOp::sum, 1);
      },
      [](Comm comm) {
        std::vector<double> in(5000);
        std::vector<double> out(in.size() * static_cast<std::size_t>(comm.size()));
        comm.all_gather(in, out);
      },
      [](Comm comm) {
        std::vector<double> in(5000);
        std::vector<double> out(in.size() * static_cast<std::size_t>(comm.size()));
        comm.gather(in, out, 1);
      },
      [](Comm comm) {
        std::vector<double> out(5000);
        std::vector<double> in(out.size() * static_cast<std::size_t>(comm.size()));
        comm.scatter(in, out, 1);
      },
      [](Comm comm) {
        std::vector<double> in(1000 * static_cast<std::size_t>(comm.size()));
        std::vector<double> out(in.size());
        comm.all_to_all(in, out);
      },
      [](Comm comm) {
        std::vector<double> out(1000);
        std::vector<double> in(out.size() * static_cast<std::size_t>(comm.size()));
        comm.reduce_scatter(in, out);
      },
      [](Comm comm) { (void)comm.split(0); },
      [](Comm comm) { comm.agree(); },
  };
  for (const auto& call : calls) expect_all_leave(3, 0, call);
}

TEST_F(Failure, ends_a_receive) {
  expect_all_leave([](Comm comm) {
    std::vector<int> data(1);
    comm.recv(data, (comm.rank() + 1) % comm.size());
  });
}

TEST_F(Failure, ends_a_send_that_nobody_receives) {
  expect_all_leave([](Comm comm) {
    const std::vector<int> data(100'000);
    comm.send(data, (comm.rank() + 1) % comm.size());
  });
}

TEST_F(Failure, ends_the_wait_for_a_started_call) {
  expect_all_leave([](Comm comm) {
    const std::vector<double> in(10'000);
    std::vector<double> out(10'000);
    Request request = comm.start_allreduce(in, out);
    request.wait();
  });
}

TEST_F(Failure, ends_tests_of_a_started_call) {
  expect_all_leave([](Comm comm) {
    std::vector<int> data(1);
    Request request = comm.start_recv(data, (comm.rank() + 1) % comm.size());
    while (!request.test()) std::this_thread::yield();
  });
}

TEST_F(Failure, ends_a_batch) {
  expect_all_leave([](Comm comm) {
    const std::vector<int> out(10);
    std::vector<int> in(10);
    MessageBatch batch(comm);
    for (int peer = 0; peer < comm.size(); ++peer) batch.send(out, peer).recv(in, peer);
    batch.run();
  });
}

TEST_F(Failure, ends_later_calls) {
  expect_all_leave([](Comm comm) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comm.barrier();
  });
}

namespace {

/// Runs `body`, which a failure of rank `culprit` must end on all other ranks.
void expect_all_aborted(int ranks, int culprit, const std::function<void(Comm)>& body) {
  std::mutex mutex;
  int aborted = 0;
  const auto start = Clock::now();
  const auto record = [&](Comm comm) {
    try {
      body(comm);
    } catch (const AbortedError& error) {
      EXPECT_EQ(error.failed_rank(), culprit);
      EXPECT_EQ(error.reason(), "elsewhere");
      const std::lock_guard lock(mutex);
      ++aborted;
    }
  };
  EXPECT_THROW(run_threads(ranks, record), Boom);
  EXPECT_EQ(aborted, ranks - 1);
  EXPECT_LT(seconds_since(start), 2.0);
}

}  // namespace

TEST_F(Failure, ends_calls_of_a_split_communicator) {
  expect_all_aborted(5, 4, [](Comm comm) {
    // The last rank fails in a communicator of its own and is named by its job rank.
    const Comm part = comm.split(comm.rank() == 4 ? 1 : 0, -comm.rank());
    if (comm.rank() == 4) throw Boom("elsewhere");
    for (;;) part.barrier();
  });
}

TEST_F(Failure, ends_calls_of_a_split_of_a_split) {
  expect_all_aborted(4, 2, [](Comm comm) {
    const Comm half = comm.split(comm.rank() / 2);
    const Comm turned = half.split(0, -half.rank());
    if (comm.rank() == 2) throw Boom("elsewhere");
    // Ranks 0 and 1 wait in a communicator without the failing rank.
    std::vector<int> data(1);
    if (comm.rank() == 0) turned.recv(data, 0);
    turned.barrier();
  });
}

TEST_F(Failure, ends_a_split) {
  // The rank that creates the new team may fail at that moment.
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(run_threads(4,
                             [&](Comm comm) {
                               const Comm part = comm.split(comm.rank() == 3 ? 1 : 0);
                               if (comm.rank() == 3) {
                                 std::this_thread::sleep_for(std::chrono::microseconds(round * 2));
                                 throw Boom("while others split");
                               }
                               for (;;) (void)part.split(0);
                             }),
                 Boom);
  }
}

TEST_F(Failure, during_large_reductions_does_not_access_released_memory) {
  // A rank fails with a call in progress and releases memory that peers access.
  for (int round = 0; round < 30; ++round) {
    EXPECT_THROW(run_threads(3,
                             [&](Comm comm) {
                               for (int call = 0;; ++call) {
                                 std::vector<double> in(20'000, 1.0);
                                 std::vector<double> out(20'000);
                                 Request request = comm.start_allreduce(in, out);
                                 if (comm.rank() == round % 3 && call == 2) throw Boom("leaving");
                                 request.wait();
                               }
                             }),
                 Boom);
  }
}

TEST_F(Failure, with_a_message_in_progress_does_not_access_released_memory) {
  for (int round = 0; round < 30; ++round) {
    EXPECT_THROW(run_threads(2,
                             [&](Comm comm) {
                               for (int call = 0;; ++call) {
                                 std::vector<double> out(50'000, 1.0);
                                 std::vector<double> in(50'000);
                                 Request receiving = comm.start_recv(in, 1 - comm.rank());
                                 Request sending = comm.start_send(out, 1 - comm.rank());
                                 if (comm.rank() == round % 2 && call == 1) throw Boom("leaving");
                                 receiving.wait();
                                 sending.wait();
                               }
                             }),
                 Boom);
  }
}

TEST_F(Failure, with_a_call_that_cannot_complete_is_reported) {
  // The destructor of a request waits; here that would be forever, on both sides.
  const auto start = Clock::now();
  int failed_rank = -1;
  const auto body = [&](Comm comm) {
    std::vector<int> data(1);
    if (comm.rank() == 0) {
      Request request = comm.start_recv(data, 1);
      throw Boom("leaving");
    }
    try {
      comm.barrier();
    } catch (const AbortedError& error) {
      failed_rank = error.failed_rank();
    }
  };
  EXPECT_THROW(run_threads(2, body), Boom);
  EXPECT_EQ(failed_rank, 0);
  EXPECT_LT(seconds_since(start), 2.0);
}

TEST_F(Failure, of_several_ranks_reports_one_of_them) {
  for (int round = 0; round < 20; ++round) {
    std::string seen;
    try {
      run_threads(4, [](Comm comm) {
        comm.barrier();
        throw Boom("rank " + std::to_string(comm.rank()));
      });
    } catch (const Boom& error) {
      seen = error.what();
    }
    EXPECT_EQ(seen.substr(0, 5), "rank ");
  }
}

TEST_F(Failure, that_is_not_a_std_exception_is_rethrown) {
  EXPECT_THROW(run_threads(2,
                           [](Comm comm) {
                             if (comm.rank() == 1) throw 42;
                             comm.barrier();
                           }),
               int);
}

TEST_F(Failure, of_a_single_rank_is_thrown_unchanged) {
  EXPECT_THROW(run_threads(1, [](Comm) { throw Boom("alone"); }), Boom);
  EXPECT_THROW(run_threads(0, [](Comm) {}), ArgumentError);
  EXPECT_THROW(run_threads(-3, [](Comm) {}), ArgumentError);
}

TEST_F(Failure, by_abort_reports_the_reason) {
  std::mutex mutex;
  int aborted = 0;
  EXPECT_THROW(run_threads(3,
                           [&](Comm comm) {
                             if (comm.rank() == 1) comm.abort("the user has had enough");
                             try {
                               for (;;) comm.barrier();
                             } catch (const AbortedError& error) {
                               EXPECT_EQ(error.failed_rank(), 1);
                               EXPECT_EQ(error.reason(), "the user has had enough");
                               const std::string text = error.what();
                               EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
                               EXPECT_NE(text.find("had enough"), std::string::npos) << text;
                               const std::lock_guard lock(mutex);
                               ++aborted;
                               throw;
                             }
                           }),
               AbortedError);
  EXPECT_EQ(aborted, 3) << "also the rank that aborted";
}

TEST_F(Failure, by_abort_of_a_split_communicator_names_the_job_rank) {
  std::mutex mutex;
  int aborted = 0;
  const auto body = [&](Comm comm) {
    try {
      const Comm turned = comm.split(0, -comm.rank());
      if (comm.rank() == 2) turned.abort("no more");
      for (;;) comm.barrier();
    } catch (const AbortedError& error) {
      EXPECT_EQ(error.failed_rank(), 2);
      const std::lock_guard lock(mutex);
      ++aborted;
    }
  };
  run_threads(3, body);
  EXPECT_EQ(aborted, 3);
}

TEST_F(Failure, of_a_message_of_the_wrong_size_is_reported) {
  for (const std::size_t room : {3U, 5U}) {
    std::string seen;
    try {
      run_threads(3, [&](Comm comm) {
        const std::vector<int> out(4);
        std::vector<int> in(room);
        if (comm.rank() == 0) comm.send(out, 1);
        if (comm.rank() == 1) comm.recv(in, 0);
        comm.barrier();
      });
    } catch (const AbortedError& error) {
      ADD_FAILURE() << "expected the error of the receiver, got " << error.what();
    } catch (const CommError& error) {
      seen = error.what();
    }
    EXPECT_NE(seen.find("16 bytes"), std::string::npos) << seen;
    EXPECT_NE(seen.find(std::to_string(room * 4)), std::string::npos) << seen;
  }
}

TEST_F(Failure, does_not_affect_the_next_team) {
  for (int round = 0; round < 5; ++round) {
    EXPECT_THROW(run_threads(3,
                             [](Comm comm) {
                               if (comm.rank() == 0) throw Boom("once");
                               comm.barrier();
                             }),
                 Boom);
    run_threads(3, [](Comm comm) { EXPECT_EQ(comm.allreduce(1), 3); });
  }
}

// Agreed errors

TEST_F(Failure, that_is_agreed_on_has_one_text_and_keeps_the_communicator) {
  std::mutex mutex;
  std::vector<std::string> texts;
  run_threads(4, [&](Comm comm) {
    for (int round = 0; round < 3; ++round) {
      try {
        const bool complains = comm.rank() == 1 || comm.rank() == 3;
        comm.agree(complains ? "rank " + std::to_string(comm.rank()) + " sees negative weights"
                             : std::string());
        ADD_FAILURE() << "no exception was thrown";
      } catch (const AgreedError& error) {
        const std::lock_guard lock(mutex);
        texts.emplace_back(error.what());
      }
      EXPECT_EQ(comm.allreduce(1), 4);
      comm.agree();
    }
  });
  EXPECT_EQ(texts.size(), 12U);
  for (const std::string& text : texts) {
    EXPECT_EQ(text, texts.front());
    EXPECT_NE(text.find("rank 1 sees negative weights"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 3 sees negative weights"), std::string::npos) << text;
  }
}

TEST_F(Failure, that_is_agreed_on_reports_equal_errors_once) {
  const auto text_of = [](int ranks, int complaining) {
    std::string text;
    try {
      run_threads(ranks,
                  [&](Comm comm) { comm.agree(comm.rank() < complaining ? "too cold" : ""); });
    } catch (const AgreedError& error) {
      text = error.what();
    }
    EXPECT_EQ(text.find("too cold"), text.rfind("too cold")) << text;
    return text;
  };
  EXPECT_NE(text_of(3, 1).find("rank 0"), std::string::npos);
  EXPECT_NE(text_of(3, 2).find("rank 0 and 1 more"), std::string::npos);
  EXPECT_NE(text_of(3, 3).find("all ranks"), std::string::npos);
}

// Time limits. They are read once per process, so each test runs in its own process.

namespace {

/// The output of a process whose recv has no sender.
[[noreturn]] void wait_for_nothing() {
  setenv("WEFT_TIMEOUT", "1", 1);
  const auto start = Clock::now();
  int code = 1;
  try {
    run_threads(2, [](Comm comm) {
      std::vector<int> data(1);
      if (comm.rank() == 0) comm.recv(data, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    });
  } catch (const TimeoutError& error) {
    const double seconds = seconds_since(start);
    code = seconds > 0.9 && seconds < 5 ? 0 : 2;
    std::fprintf(stderr, "after %.1f s: %s\n", seconds, error.what());
  }
  std::_Exit(code);
}

/// The same for a barrier that one rank does not enter.
[[noreturn]] void wait_for_a_lost_rank() {
  setenv("WEFT_TIMEOUT", "0.5", 1);
  int code = 1;
  try {
    run_threads(4, [](Comm comm) {
      if (comm.rank() != 3) comm.barrier();
      std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  } catch (const TimeoutError&) {
    code = 0;
  }
  std::_Exit(code);
}

[[noreturn]] void set_a_senseless_limit() {
  setenv("WEFT_TIMEOUT", "soon", 1);
  int code = 1;
  try {
    run_threads(2, [](Comm comm) {
      std::vector<int> data(1);
      if (comm.rank() == 0) comm.recv(data, 1);
    });
  } catch (const ArgumentError& error) {
    code = std::string(error.what()).find("soon") == std::string::npos ? 2 : 0;
  }
  std::_Exit(code);
}

}  // namespace

using FailureDeathTest = Failure;

TEST_F(FailureDeathTest, by_timeout_names_the_missing_rank_and_the_limit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(wait_for_nothing(), testing::ExitedWithCode(0),
              "waited 1 s for rank 1 in recv.*WEFT_TIMEOUT");
}

TEST_F(FailureDeathTest, by_timeout_ends_a_collective) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(wait_for_a_lost_rank(), testing::ExitedWithCode(0), "");
}

TEST_F(FailureDeathTest, to_parse_the_time_limit_is_reported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(set_a_senseless_limit(), testing::ExitedWithCode(0), "");
}

// Many rounds

TEST_F(Failure, is_not_raised_by_oversubscription) {
  const auto start = Clock::now();
  run_threads(16, [](Comm comm) {
    for (int round = 0; round < 200; ++round) EXPECT_EQ(comm.allreduce(1), 16);
  });
  EXPECT_LT(seconds_since(start), 20.0);
}

TEST_F(Failure, or_success_leaks_no_memory) {
  const auto rounds = [](int count) {
    for (int round = 0; round < count; ++round) {
      run_threads(4, [](Comm comm) {
        const Comm half = comm.split(comm.rank() % 2);
        const Comm copy = half.dup();
        Buffer<double> data(1000);
        Buffer<double> on_device(1000, other_device());
        copy.allreduce(data);
        comm.allreduce(on_device);
      });
      EXPECT_THROW(run_threads(4,
                               [](Comm comm) {
                                 const Comm half = comm.split(comm.rank() % 2);
                                 Buffer<double> data(1000, other_device());
                                 if (comm.rank() == 0) throw Boom("leaving");
                                 for (;;) comm.allreduce(data);
                               }),
                   Boom);
    }
  };
  rounds(5);  // allocates what is kept
  const index_t cpu = memory_stats(Device::cpu()).bytes_in_use;
  const index_t debug = memory_stats(other_device()).bytes_in_use;
  const std::size_t heap = mallinfo2().uordblks;
  rounds(100);
  EXPECT_EQ(memory_stats(Device::cpu()).bytes_in_use, cpu);
  EXPECT_EQ(memory_stats(other_device()).bytes_in_use, debug);
  // Leaking one team per round would exceed 4 MB.
  EXPECT_LT(static_cast<double>(mallinfo2().uordblks) - static_cast<double>(heap), 5e5);
}

// Ranks that make different calls, without checked calls

TEST_F(Failure, by_different_calls_does_not_access_memory) {
  using Call = std::function<void(const Comm&)>;
  const auto reduce_some = [](std::size_t count) {
    return [count](const Comm& comm) {
      const std::vector<double> in(count, 1.0);
      std::vector<double> out(count);
      comm.allreduce(in, out);
    };
  };
  const Call gather_some = [](const Comm& comm) {
    const std::vector<double> in(comm.rank() == 0 ? 400 : 300);
    std::vector<double> out(800);
    comm.all_gather_v(in, out, Parts({400, comm.rank() == 0 ? 400 : 300}));
  };
  const Call send_wrongly = [](const Comm& comm) {
    std::vector<double> data(comm.rank() == 0 ? 10 : 20);
    if (comm.rank() == 0) comm.send(data, 1);
    if (comm.rank() == 1) comm.recv(data, 0);
    comm.barrier();
  };
  const std::vector<std::pair<Call, Call>> cases = {
      {reduce_some(100), reduce_some(1000)},
      {reduce_some(3), reduce_some(1000)},
      {reduce_some(3), reduce_some(4)},
      {reduce_some(3), [](const Comm& comm) { comm.barrier(); }},
      {gather_some, gather_some},
      {send_wrongly, send_wrongly}};
  for (const auto& [first, second] : cases) {
    std::atomic<int> errors = 0;
    EXPECT_THROW(run_threads(2,
                             [&](const Comm& comm) {
                               comm.check_calls(false);
                               try {
                                 (comm.rank() == 0 ? first : second)(comm);
                               } catch (const CommError&) {
                                 ++errors;
                                 throw;
                               }
                             }),
                 CommError);
    EXPECT_EQ(errors, 2);
  }
}

}  // namespace weft::test
