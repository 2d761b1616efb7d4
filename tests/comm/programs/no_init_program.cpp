// A program that cannot initialise MPI, run by launch_test.

#include <weft/comm/launch.hpp>

#include <mpi.h>

// Replaces the function of the library.
int MPI_Init_thread(int*, char***, int, int*) { return MPI_ERR_OTHER; }

int main(int argc, char** argv) {
  return weft::launch(argc, argv, [](const weft::Comm&) {});
}
