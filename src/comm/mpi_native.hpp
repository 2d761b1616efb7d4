#pragma once

// MPI helpers. The only file that includes <mpi.h>; only mpi_*.cpp and launch_mpi.cpp use it.

#include "comm/transport.hpp"

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <utility>
#include <vector>

namespace weft::detail {

[[noreturn]] void throw_mpi_error(int code, const char* call);

/// Throws a CommError with MPI's error text unless `code` is success.
inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call);
}

bool mpi_is_finalized();

MPI_Datatype native(DType dtype);
MPI_Op native(ReduceOp op, DType dtype);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);
/// The number of ranks in MPI_COMM_WORLD.
int size_of_job();
/// The job ranks (ranks in MPI_COMM_WORLD) of a communicator; errors name these.
std::vector<int> job_ranks(MPI_Comm comm);
/// The job rank of this process. Cached, so that it is available during MPI_Finalize.
int job_rank();
/// Reports which rank failed and why, unless another rank reports at the same time, and ends all
/// ranks. May be called from any thread, even while another one is in MPI.
void end_job(int failed_rank, const char* reason, int code = 1) noexcept;
/// The same for a failure of this rank.
void abort_job(const char* reason) noexcept;
/// end_job has been called.
bool job_is_ending() noexcept;

/// A send or a collective of this process was abandoned, and its memory may be released. MPI could
/// access it in any call that makes progress, so the process may only call MPI_Abort.
bool has_abandoned_calls() noexcept;
void note_abandoned_call() noexcept;

/// Owns a communicator whose errors are returned as codes.
class OwnedComm {
 public:
  explicit OwnedComm(MPI_Comm comm) : comm_(comm) {
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  OwnedComm(OwnedComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  OwnedComm& operator=(OwnedComm&&) = delete;
  ~OwnedComm() {
    if (comm_ == MPI_COMM_NULL || has_abandoned_calls() || mpi_is_finalized()) return;
    MPI_Comm_free(&comm_);
  }

  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_;
};

}  // namespace weft::detail
