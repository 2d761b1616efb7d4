// Run by launch_test as a process. The first argument that Weft leaves selects what ranks do.

#include <weft/comm/launch.hpp>
#include <weft/comm/print.hpp>
#include <weft/core/error.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using weft::Comm;

int show(const Comm& world) {
  const int ranks = world.allreduce(1);
  weft::print(world, "{} ranks on {} with {}\n", ranks, world.transport(),
              to_string(world.device()));
#if defined(_OPENMP)
  weft::print(world, "{} threads per rank\n", omp_get_max_threads());
#endif
  return 0;
}

/// The last rank fails while the others wait for it.
int fail_alone(const Comm& world) {
  if (world.rank() == world.size() - 1) throw std::runtime_error("the sky is falling");
  world.barrier();
  return 0;
}

/// The last rank fails with a receive in progress that no rank sends to.
int fail_expecting(const Comm& world) {
  std::vector<double> room(100);
  weft::Request request;
  if (world.rank() == world.size() - 1) {
    request = world.start_recv(room, 0);
    throw std::runtime_error("the sky is falling");
  }
  world.barrier();
  return 0;
}

/// The last rank fails after its last call with the others.
int fail_at_the_end(const Comm& world) {
  world.barrier();
  if (world.rank() == world.size() - 1) throw std::runtime_error("the sky is falling");
  return 0;
}

int fail_together(const Comm&) { throw weft::ArgumentError("all of us are wrong"); }

int complain(const Comm& world) {
  world.agree(world.rank() == 0 ? "no such file" : "");
  return 0;
}

int give_up(const Comm& world) {
  if (world.rank() == 0) world.abort("enough");
  world.barrier();
  return 0;
}

/// The last rank waits for a message that arrives too late.
int come_late(const Comm& world) {
  int number = 0;
  if (world.rank() == world.size() - 1) world.recv(weft::BufferRef(&number, 1), 0);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  world.barrier();
  return 0;
}

std::string fail_to_read(const std::vector<std::string>&) {
  throw std::invalid_argument("these are no options");
}

int return_rank(const Comm& world) { return 10 + world.rank(); }

/// The rest of argv holds the original pointers, not copies.
bool keeps_pointers(int argc, char** argv, const std::vector<char*>& before) {
  std::size_t next = 0;
  for (int i = 0; i < argc; ++i, ++next) {
    while (next < before.size() && before[next] != argv[i]) ++next;
    if (next == before.size()) return false;
  }
  return argv[argc] == nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<char*> before(argv, argv + argc);
  if (argc > 1 && argv[1] == std::string("--read")) {
    return weft::launch(argc, argv, {fail_to_read, [](const Comm&) { return 0; }});
  }
  return weft::launch(argc, argv, std::function<int(Comm)>([&](const Comm& world) {
                        const std::string what = argc > 1 ? argv[1] : "show";
                        if (what == "show") return show(world);
                        if (what == "fail_alone") return fail_alone(world);
                        if (what == "fail_expecting") return fail_expecting(world);
                        if (what == "fail_at_the_end") return fail_at_the_end(world);
                        if (what == "fail_together") return fail_together(world);
                        if (what == "complain") return complain(world);
                        if (what == "give_up") return give_up(world);
                        if (what == "come_late") return come_late(world);
                        if (what == "return_rank") return return_rank(world);
                        weft::print(world, "arguments:");
                        for (int i = 1; i < argc; ++i) weft::print(world, " [{}]", argv[i]);
                        weft::print(
                            world, "{}\n",
                            keeps_pointers(argc, argv, before) ? "" : " (not those of argv)");
                        return 0;
                      }));
}
