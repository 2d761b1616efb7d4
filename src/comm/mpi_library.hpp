#pragma once

#include "comm/transport.hpp"

#include <memory>
#include <optional>
#include <string>

namespace weft::detail {

/// MPI for the life of the object: initialised if the program has not done it, and finalised if so.
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
/// The library's own words about itself, such as "Open MPI v4.1.4".
std::string mpi_library_version();

/// The library says that it takes memory of GPUs.
bool mpi_is_cuda_aware();

/// The most elements given to one MPI call, whose counts are 32-bit numbers. Only tests lower it.
void set_mpi_count_limit(index_t elements);

}  // namespace weft::detail
