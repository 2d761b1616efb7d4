// What lost_rank_test runs as an MPI job that is not Weft's: the program has initialised MPI
// without threads, and lends its communicator. The last rank does not come.

#include <weft/comm/launch.hpp>

#include <mpi.h>

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const weft::Comm world = weft::mpi_comm(MPI_Comm_c2f(MPI_COMM_WORLD));
    world.barrier();
    if (world.rank() == world.size() - 1) {
      std::this_thread::sleep_for(std::chrono::seconds(60));
    } else {
      world.allreduce(1.0);
    }
  }
  MPI_Finalize();
}
