// Run by lost_rank_test as an MPI job. The first argument selects what the last rank and the others
// do.

#include <weft/comm/launch.hpp>
#include <weft/comm/message_batch.hpp>
#include <weft/comm/print.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using weft::Comm;

bool is_last(const Comm& world) { return world.rank() == world.size() - 1; }

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// The others wait in a collective that the last rank does not enter.
void lose_last(const Comm& world, const std::function<void()>& lose) {
  world.barrier();
  if (is_last(world)) {
    lose();
  } else {
    world.allreduce(1.0);
  }
}

void return_early(const Comm& world) {
  lose_last(world, [] {});
}

void return_while_others_wait(const Comm& world) {
  lose_last(world, [] { sleep(1.5); });
}

void return_before_sending(const Comm& world) {
  double number = 0;
  if (world.rank() == 0) world.recv(weft::BufferRef(&number, 1), world.size() - 1);
}

void return_before_receiving(const Comm& world) {
  const std::vector<double> much(1'000'000);
  if (world.rank() == 0) world.send(much, world.size() - 1);
}

/// The last rank has freed the communicator in which it is missing.
void return_from_a_part(const Comm& world) {
  const Comm part = world.split(0, -world.rank());
  part.barrier();
  if (!is_last(world)) part.barrier();
}

void return_from_a_begun_call(const Comm& world) {
  if (is_last(world)) return;
  double sum = 1;
  world.start_allreduce(weft::ConstBufferRef(&sum, 1), weft::BufferRef(&sum, 1)).wait();
}

void stop(const Comm& world) {
  lose_last(world, [] { std::raise(SIGSTOP); });
}

/// The last rank is stopped in a call that needs it.
void stop_in_a_call(const Comm& world) {
  std::vector<double> much(1'000'000);
  world.barrier();
  std::jthread stopper;
  if (is_last(world)) {
    stopper = std::jthread([] {
      sleep(0.3);
      std::raise(SIGSTOP);
    });
  } else {
    sleep(0.6);
  }
  world.allreduce(much);
}

void stop_when_others_are_done(const Comm& world) {
  world.barrier();
  if (is_last(world)) std::raise(SIGSTOP);
}

/// The last rank is stopped for a second between two of many calls.
void pause_for_a_second(const Comm& world) {
  for (int call = 0; call < 200; ++call) {
    if (call == 100 && is_last(world)) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe)
      std::system(("(sleep 1; kill -CONT " + std::to_string(getpid()) + ") > /dev/null &").c_str());
      std::raise(SIGSTOP);
    }
    const int sum = world.allreduce(call);
    if (sum != call * world.size()) throw std::runtime_error("the sum is " + std::to_string(sum));
  }
}

/// The last rank is killed between two of many calls.
void be_killed(const Comm& world) {
  for (int call = 0;; ++call) {
    if (call == 100 && is_last(world)) std::raise(SIGKILL);
    world.allreduce(call);
  }
}

void hang(const Comm& world) {
  lose_last(world, [] { sleep(60); });
}

void hang_in_another_call(const Comm& world) {
  double number = 0;
  lose_last(world, [&] { world.recv(weft::BufferRef(&number, 1), 0); });
}

void call_exit(const Comm& world, int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  lose_last(world, [&] { std::exit(code); });
}

void fail_together(const Comm& world) {
  world.barrier();
  if (world.rank() > 0) {
    throw std::runtime_error("the sky is falling on rank " + std::to_string(world.rank()));
  }
  world.barrier();
}

/// An error abandons a send of the last rank, whose memory is then released, while a receive is in
/// progress. The rank catches the error and continues with the receive.
void abandon_a_send(const Comm& world, const std::function<void(weft::Request)>& go_on) {
  double number = 0;
  if (is_last(world)) {
    weft::Request receiving = world.start_recv(weft::BufferRef(&number, 1), 0);
    try {
      const std::vector<double> much(1'000'000);
      const weft::Request sending = world.start_send(much, 0);
      throw std::runtime_error("never mind");
    } catch (const std::runtime_error&) {
      go_on(std::move(receiving));
    }
  }
  world.barrier();
}

void wait_after_an_abandoned_send(const Comm& world) {
  abandon_a_send(world, [](weft::Request receiving) { receiving.wait(); });
}

void test_after_an_abandoned_send(const Comm& world) {
  abandon_a_send(world, [](weft::Request receiving) {
    while (!receiving.test()) sleep(0.01);
  });
}

void drop_after_an_abandoned_send(const Comm& world) {
  abandon_a_send(world, [](const weft::Request&) {});
}

/// The last rank is done; the others compute for longer than a rank may wait, then continue without
/// it.
void finish_early(const Comm& world) {
  const Comm others = world.split(is_last(world) ? -1 : 0, world.rank());
  if (is_last(world)) return;
  sleep(3);
  others.barrier();
}

/// The last rank has completed a call in which the others still wait.
void contribute_and_finish(const Comm& world) {
  const std::array<double, 1> mine = {1.0};
  std::vector<double> all(static_cast<std::size_t>(world.size()));
  if (world.rank() == world.size() - 2) sleep(2);
  world.gather(mine, all, 0);
  if (world.rank() > 0) return;
  double sum = 0;
  for (const double each : all) sum += each;
  weft::print(world, "gathered {}\n", sum);
}

}  // namespace

int main(int argc, char** argv) {
  return weft::launch(argc, argv, std::function<int(Comm)>([&](const Comm& world) {
                        const std::map<std::string, std::function<void(Comm)>> actions = {
                            {"return_early", return_early},
                            {"return_while_others_wait", return_while_others_wait},
                            {"return_before_sending", return_before_sending},
                            {"return_before_receiving", return_before_receiving},
                            {"return_from_a_part", return_from_a_part},
                            {"return_from_a_begun_call", return_from_a_begun_call},
                            {"stop", stop},
                            {"stop_in_a_call", stop_in_a_call},
                            {"stop_when_others_are_done", stop_when_others_are_done},
                            {"pause", pause_for_a_second},
                            {"be_killed", be_killed},
                            {"hang", hang},
                            {"hang_in_another_call", hang_in_another_call},
                            {"exit_3", [](const Comm& all) { call_exit(all, 3); }},
                            {"exit_0", [](const Comm& all) { call_exit(all, 0); }},
                            {"fail_together", fail_together},
                            {"wait_after_an_abandoned_send", wait_after_an_abandoned_send},
                            {"test_after_an_abandoned_send", test_after_an_abandoned_send},
                            {"drop_after_an_abandoned_send", drop_after_an_abandoned_send},
                            {"finish_early", finish_early},
                            {"contribute_and_finish", contribute_and_finish},
                        };
                        actions.at(argv[1])(world);
                        weft::print(world, "done\n");
                        return 0;
                      }));
}
