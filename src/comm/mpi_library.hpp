#pragma once

#include "comm/transport.hpp"

#include <memory>
#include <optional>
#include <string>

namespace weft::detail {

/// Initialises MPI unless the program has done so; then the destructor finalises it.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

 private:
  bool owner_ = false;
};

/// Duplicates the communicator behind a Fortran handle. Collective over it.
std::shared_ptr<Transport> make_mpi_transport(int fortran_handle);
/// The same for MPI_COMM_WORLD.
std::shared_ptr<Transport> make_mpi_world();
/// Name and version, such as "Open MPI v4.1.4".
std::string mpi_library_version();

/// The library accepts GPU memory.
bool mpi_is_cuda_aware();

/// The most elements given to one MPI call, whose counts are 32-bit numbers. Only tests lower it.
void set_mpi_count_limit(index_t elements);

}  // namespace weft::detail
