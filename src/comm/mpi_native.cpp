#include "comm/mpi_native.hpp"

#include <weft/core/error.hpp>

#include "comm/memory_ops.hpp"
#include "comm/mpi_library.hpp"
#include "comm/mpi_watchdog.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>
#include <thread>

namespace weft::detail {
namespace {

// The signature is that of MPI_User_function.
template <DType dtype, ReduceOp op>
// NOLINTNEXTLINE(readability-non-const-parameter)
void combine_into(void* in, void* inout, int* count, MPI_Datatype*) {
  const void* const inputs[] = {in, inout};
  void* const outputs[] = {inout};
  combine(Device::cpu(), dtype, op, inputs, outputs, *count);
}

/// An op for a type that MPI lacks. Created once; valid until MPI is finalised.
template <DType dtype, ReduceOp op>
MPI_Op custom_op() {
  static const MPI_Op made = [] {
    MPI_Op handle = MPI_OP_NULL;
    check(MPI_Op_create(&combine_into<dtype, op>, 1, &handle), "MPI_Op_create");
    return handle;
  }();
  return made;
}

template <DType dtype>
MPI_Op small_float_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return custom_op<dtype, ReduceOp::sum>();
    case ReduceOp::prod: return custom_op<dtype, ReduceOp::prod>();
    case ReduceOp::min: return custom_op<dtype, ReduceOp::min>();
    case ReduceOp::max: return custom_op<dtype, ReduceOp::max>();
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
    case ReduceOp::avg: break;
  }
  return MPI_OP_NULL;
}

std::atomic<bool> ending = false;
/// MPI_Finalize is running. Some libraries report themselves finalised as soon as it starts.
std::atomic<bool> finalizing = false;
std::atomic<bool> calls_abandoned = false;

struct Job {
  int rank = 0;
  int size = 1;
};

const Job& job() {
  static const Job known = [] {
    Job made;
    MPI_Comm_rank(MPI_COMM_WORLD, &made.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &made.size);
    return made;
  }();
  return known;
}

}  // namespace

int size_of_job() { return job().size; }

void throw_mpi_error(int code, const char* call) {
  // MPI describes errors between MPI_Init and MPI_Finalize.
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0 || mpi_is_finalized())
    throw CommError(fmt::format("{} failed: error {}", call, code));
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(fmt::format("{} failed: {}", call, std::string(text)));
}

bool mpi_is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

MPI_Datatype native(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return MPI_UINT16_T;  // 16 bits to move; the custom ops interpret them
    case DType::f32: return MPI_FLOAT;
    case DType::f64: return MPI_DOUBLE;
    case DType::c64: return MPI_C_FLOAT_COMPLEX;
    case DType::c128: return MPI_C_DOUBLE_COMPLEX;
    case DType::i8: return MPI_INT8_T;
    case DType::i16: return MPI_INT16_T;
    case DType::i32: return MPI_INT32_T;
    case DType::i64: return MPI_INT64_T;
    case DType::u8: return MPI_UINT8_T;
    case DType::u16: return MPI_UINT16_T;
    case DType::u32: return MPI_UINT32_T;
    case DType::u64: break;
  }
  return MPI_UINT64_T;
}

MPI_Op native(ReduceOp op, DType dtype) {
  if (dtype == DType::f16) return small_float_op<DType::f16>(op);
  if (dtype == DType::bf16) return small_float_op<DType::bf16>(op);
  switch (op) {
    case ReduceOp::sum: return MPI_SUM;
    case ReduceOp::prod: return MPI_PROD;
    case ReduceOp::min: return MPI_MIN;
    case ReduceOp::max: return MPI_MAX;
    case ReduceOp::bit_and: return MPI_BAND;
    case ReduceOp::bit_or: return MPI_BOR;
    case ReduceOp::bit_xor: return MPI_BXOR;
    case ReduceOp::avg: break;  // Comm computes it from a sum
  }
  return MPI_OP_NULL;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

std::vector<int> job_ranks(MPI_Comm comm) {
  MPI_Group here = MPI_GROUP_NULL;
  MPI_Group job = MPI_GROUP_NULL;
  std::vector<int> ranks(static_cast<std::size_t>(size_of(comm)));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> result(ranks.size());
  MPI_Comm_group(comm, &here);
  MPI_Comm_group(MPI_COMM_WORLD, &job);
  MPI_Group_translate_ranks(here, size_of(comm), ranks.data(), job, result.data());
  MPI_Group_free(&here);
  MPI_Group_free(&job);
  return result;
}

int job_rank() { return job().rank; }

bool job_is_ending() noexcept { return ending; }

bool has_abandoned_calls() noexcept { return calls_abandoned; }
void note_abandoned_call() noexcept { calls_abandoned = true; }

void end_job(int failed_rank, const char* reason, int code) noexcept {
  if (mpi_is_finalized() && !finalizing) return;
  ending = true;
  constexpr auto abort_timeout = std::chrono::seconds(3);
  if (MpiWatchdog::instance().may_report()) {
    std::fprintf(stderr, "weft: rank %d of %d failed: %s\n", failed_rank, job().size, reason);
    std::fflush(stderr);
  } else {
    std::this_thread::sleep_for(abort_timeout);  // the rank that reports ends this one
  }
  if (finalizing) _exit(code);  // MPI cannot be called; the launcher ends the others
  try {
    std::thread([=] {
      std::this_thread::sleep_for(abort_timeout);
      _exit(code);  // MPI_Abort did not return
    }).detach();
  } catch (const std::exception&) {
    // Without a thread, MPI_Abort is not limited.
  }
  MPI_Abort(MPI_COMM_WORLD, code);
}

void abort_job(const char* reason) noexcept { end_job(job_rank(), reason); }

MpiSession::MpiSession() {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized != 0) {
    job();
    return;
  }
  int provided = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  // Some libraries use the error handler of MPI_COMM_WORLD for errors of requests.
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  job();
  owner_ = true;
}

MpiSession::~MpiSession() {
  if (!owner_ || mpi_is_finalized()) return;
  // MPI_Finalize waits for other ranks, which may wait for calls that this one will not make.
  if (std::uncaught_exceptions() > 0) abort_job("an error was thrown while MPI was in use");
  const JobWait wait("MPI_Finalize");
  finalizing = true;
  MPI_Finalize();
  finalizing = false;
}

bool mpi_is_cuda_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::string mpi_library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  const std::string all(text);
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace weft::detail
