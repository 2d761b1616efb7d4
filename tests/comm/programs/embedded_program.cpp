// A program that uses MPI itself, run as an MPI job by lost_rank_test. The first argument selects
// the scenario.

#include <weft/comm/launch.hpp>
#include <weft/core/buffer.hpp>

#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using weft::Comm;

Comm borrow_world() { return weft::mpi_comm(MPI_Comm_c2f(MPI_COMM_WORLD)); }

bool is_last(const Comm& world) { return world.rank() == world.size() - 1; }

void sleep(int seconds) { std::this_thread::sleep_for(std::chrono::seconds(seconds)); }

/// Weft uses a communicator of the program, and the last rank does not enter the call.
int lose_last() {
  const Comm world = borrow_world();
  world.barrier();
  if (is_last(world)) {
    sleep(60);
  } else {
    world.allreduce(1.0);
  }
  return 0;
}

/// A rank that has left launch is not lost: it may be late.
int be_late_after_launch(int argc, char** argv) {
  const int code = weft::launch(argc, argv, [](const Comm& world) { world.barrier(); });
  const Comm world = borrow_world();
  if (is_last(world)) sleep(2);
  const double sum = world.allreduce(1.0);
  if (world.rank() == 0) std::printf("sum %g\n", sum);
  return code;
}

/// The last rank fails in a communicator in which it has a different rank.
int fault_in_a_part() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
  const Comm part = weft::mpi_comm(MPI_Comm_c2f(half));
  weft::Buffer<double> buffer(3, weft::Device::debug());
  if (rank == 3) *static_cast<volatile double*>(buffer.data()) = 1;
  borrow_world().barrier();
  return 0;
}

int stop_this_process(MPI_Comm, int, void*, void*) {
  std::raise(SIGSTOP);
  return MPI_SUCCESS;
}

/// The last rank is stopped in MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF.
int stop_in_finalize(int argc, char** argv) {
  return weft::launch(argc, argv, [](const Comm& world) {
    if (!is_last(world)) return;
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_this_process, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argv[1];
  if (what == "stop_in_finalize") return stop_in_finalize(argc, argv);
  // MPI without thread support is enough for Weft.
  MPI_Init(&argc, &argv);
  const int code = what == "lose_last"         ? lose_last()
                   : what == "fault_in_a_part" ? fault_in_a_part()
                                               : be_late_after_launch(argc, argv);
  MPI_Finalize();
  return code;
}
