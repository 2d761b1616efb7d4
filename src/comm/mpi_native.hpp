#pragma once

// What of MPI the transport builds on. The only file that includes <mpi.h>; only mpi_*.cpp and
// launch_mpi.cpp use it.

#include "comm/transport.hpp"

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <utility>
#include <vector>

namespace weft::detail {

[[noreturn]] void throw_mpi_error(int code, const char* call);

/// Throws a CommError with MPI's own words unless `code` is success.
inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call);
}

bool mpi_is_finalized();

MPI_Datatype native(DType dtype);
MPI_Op native(ReduceOp op, DType dtype);

int rank_in(MPI_Comm comm);
int size_of(MPI_Comm comm);
/// The ranks of a communicator in the whole job, by which failures are reported.
std::vector<int> job_ranks(MPI_Comm comm);
/// This rank in the whole job. MPI is asked once, so that it is known while MPI is finalised, too.
int job_rank();
/// Says which rank failed and why, unless another rank does so at the same time, and ends all
/// ranks. From any thread: MPI may be in use by another, which is lost anyway.
void end_job(int failed_rank, const char* reason, int code = 1) noexcept;
/// The same for a failure of this rank.
void abort_job(const char* reason) noexcept;
/// end_job has been called.
bool job_is_ending() noexcept;

/// A send or a collective of this process was abandoned, and its memory may be gone. MPI would
/// touch it in whatever call it makes progress, so the process must make no more than MPI_Abort.
bool has_abandoned_calls() noexcept;
void note_abandoned_call() noexcept;

/// A communicator that is freed in the end, and whose errors come back as codes.
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
