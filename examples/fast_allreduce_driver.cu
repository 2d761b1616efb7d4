// Compares the kernels of fast_allreduce.cuh with NCCL, bit by bit and in time.
//
//   nvcc -O3 -std=c++20 -arch=native -I src examples/fast_allreduce_driver.cu -o driver \
//     $(mpicxx -showme:compile) $(mpicxx -showme:link | sed 's/-Wl,[^ ]*//g') -lnccl
//   mpirun --allow-run-as-root -n 2 ./driver
//   mpirun --allow-run-as-root --oversubscribe -n 2 ./driver --cpu
//
// Every rank is a process. Ranks take GPUs in turn; several ranks can share one if the CUDA
// multi-process service runs (nvidia-cuda-mps-control -d). The data are whole numbers, whose sums
// are exact in any order, so both results must be the same bits.
//
// With --cpu it needs no GPU: it compares a one-shot allreduce in the shared memory of processes
// with MPI, in the same way; see fast_allreduce_driver_cpu.hpp.

#include "comm/cuda/fast_allreduce.cuh"

#include "fast_allreduce_driver_cpu.hpp"

#include <mpi.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

namespace fast = weft::fast;

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) check(call, #call)

constexpr std::size_t ll_bytes = 64 << 10;
constexpr std::size_t push_bytes = 4 << 20;
constexpr std::size_t largest = 64 << 20;

std::size_t round_up(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

struct Ranks {
  int rank = 0;
  int size = 1;
  int sharing = 1;
};

/// One allocation per rank that all ranks have mapped: flags, slab, input and output, in this
/// order. (A library gives the flags an allocation of their own.)
class SharedBuffer {
 public:
  explicit SharedBuffer(const Ranks& ranks) {
    const std::size_t slab = fast::slab_bytes(ranks.size, ll_bytes, push_bytes);
    slab_at_ = round_up(sizeof(fast::Signals));
    input_at_ = slab_at_ + round_up(slab);
    output_at_ = input_at_ + largest;
    bytes_ = output_at_ + largest;
    CHECK(cudaMalloc(&bases_[ranks.rank], bytes_));
    // Zero, wait, and let all ranks know before any of them begins: a flag that comes earlier would
    // be lost.
    CHECK(cudaMemset(bases_[ranks.rank], 0, bytes_));
    CHECK(cudaDeviceSynchronize());
    cudaIpcMemHandle_t mine;
    CHECK(cudaIpcGetMemHandle(&mine, bases_[ranks.rank]));
    std::vector<cudaIpcMemHandle_t> handles(static_cast<std::size_t>(ranks.size));
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, handles.data(), sizeof(mine), MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int peer = 0; peer < ranks.size; ++peer) {
      if (peer == ranks.rank) continue;
      void* mapped = nullptr;
      CHECK(cudaIpcOpenMemHandle(&mapped, handles[static_cast<std::size_t>(peer)],
                                 cudaIpcMemLazyEnablePeerAccess));
      bases_[peer] = static_cast<std::byte*>(mapped);
    }
    CHECK(cudaHostAlloc(&status_, sizeof(*status_), cudaHostAllocMapped));
    *status_ = 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// All unmap before the first one frees.
  void release(const Ranks& ranks) {
    CHECK(cudaDeviceSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
    for (int peer = 0; peer < ranks.size; ++peer) {
      if (peer != ranks.rank) CHECK(cudaIpcCloseMemHandle(bases_[peer]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(cudaFree(bases_[ranks.rank]));
  }

  fast::Team team(const Ranks& ranks) const {
    fast::Team team;
    team.rank = ranks.rank;
    team.ranks = ranks.size;
    for (int peer = 0; peer < ranks.size; ++peer) {
      team.signals[peer] = reinterpret_cast<fast::Signals*>(bases_[peer]);
      team.slabs[peer] = bases_[peer] + slab_at_;
      team.bases[peer] = bases_[peer];
    }
    team.ll_bytes = ll_bytes;
    team.push_bytes = push_bytes;
    team.status = status_;
    team.timeout_ns = 10'000'000'000;
    CHECK(fast::can_overlap(team.overlaps));
    return team;
  }
  template <class T>
  T* input(const Ranks& ranks) const {
    return reinterpret_cast<T*>(bases_[ranks.rank] + input_at_);
  }
  template <class T>
  T* output(const Ranks& ranks) const {
    return reinterpret_cast<T*>(bases_[ranks.rank] + output_at_);
  }
  std::uint32_t status() const { return *status_; }

 private:
  std::byte* bases_[fast::max_ranks] = {};
  std::size_t slab_at_ = 0;
  std::size_t input_at_ = 0;
  std::size_t output_at_ = 0;
  std::size_t bytes_ = 0;
  std::uint32_t* status_ = nullptr;
};

ncclComm_t connect_nccl(const Ranks& ranks) {
  if (ranks.sharing > 1) {
    // NCCL refuses ranks of one host that share a GPU, so each pretends to be a host. Its messages
    // then take the sockets of this machine: these times are not those of NVLink.
    setenv("NCCL_HOSTID", std::to_string(ranks.rank).c_str(), 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    setenv("NCCL_IB_DISABLE", "1", 0);
  }
  ncclUniqueId id;
  if (ranks.rank == 0) CHECK(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  CHECK(ncclCommInitRank(&comm, ranks.size, id, ranks.rank));
  return comm;
}

/// Microseconds per call: the calls of `run`, enqueued at once. The largest over the ranks.
template <class Run>
double time_of(cudaStream_t stream, int calls, Run run) {
  cudaEvent_t begin;
  cudaEvent_t end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int i = 0; i < 3; ++i) run();
  CHECK(cudaStreamSynchronize(stream));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(cudaEventRecord(begin, stream));
  for (int i = 0; i < calls; ++i) run();
  CHECK(cudaEventRecord(end, stream));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  double mine = 1e3 * milliseconds / calls;
  double worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  return worst;
}

/// A graph of `calls` calls: the launch of a kernel costs the host more than a small call takes.
template <class Run>
double time_in_graph(cudaStream_t stream, int calls, Run run) {
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < calls; ++i) run();
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  const double time = time_of(stream, 5, [&] { CHECK(cudaGraphLaunch(ready, stream)); }) / calls;
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  return time;
}

__global__ void empty_kernel() {}

/// Whole numbers up to 15: their sums are exact also in half precision.
template <class T>
__global__ void fill(T* data, std::size_t count, int rank) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    data[i] = static_cast<T>(static_cast<float>((i * 2654435761U >> 7) + 5U * rank & 15U));
  }
}

template <class T>
int compare(const Ranks& ranks, const SharedBuffer& shared, ncclComm_t nccl, ncclDataType_t type,
            const char* name) {
  constexpr const char* names[] = {"ll", "push", "relay", "pull", "two_shot"};
  constexpr fast::Algorithm algorithms[] = {fast::Algorithm::ll, fast::Algorithm::push,
                                            fast::Algorithm::relay, fast::Algorithm::pull,
                                            fast::Algorithm::two_shot};
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  T* copy = nullptr;
  T* expected = nullptr;
  CHECK(cudaMalloc(&copy, largest));
  CHECK(cudaMalloc(&expected, largest));
  const fast::Team team = shared.team(ranks);
  int wrong = 0;
  if (ranks.rank == 0) {
    std::printf("%s, us per call in a graph; an empty kernel takes ", name);
  }
  const double empty = time_in_graph(stream, 100, [&] { empty_kernel<<<1, 32, 0, stream>>>(); });
  if (ranks.rank == 0) {
    std::printf("%.2f\n%12s%12s", empty, "bytes", "NCCL");
    for (const char* algorithm : names) std::printf("%12s", algorithm);
    std::printf("\n");
  }
  for (std::size_t bytes = 512; bytes <= largest; bytes *= 4) {
    // Not divisible by the number of ranks, nor by the width of an access.
    const std::size_t count = bytes / sizeof(T) + (bytes < largest ? 7 : 0);
    T* in = shared.input<T>(ranks);
    T* out = shared.output<T>(ranks);
    fill<<<256, 256, 0, stream>>>(in, count, ranks.rank);
    CHECK(cudaMemcpyAsync(copy, in, count * sizeof(T), cudaMemcpyDefault, stream));
    CHECK(ncclAllReduce(copy, expected, count, type, ncclSum, nccl, stream));
    CHECK(cudaStreamSynchronize(stream));
    const int calls = bytes <= 1 << 20 ? 20 : 5;
    const double theirs = time_of(stream, calls, [&] {
      CHECK(ncclAllReduce(copy, expected, count, type, ncclSum, nccl, stream));
    });
    if (ranks.rank == 0) std::printf("%12zu%12.2f", count * sizeof(T), theirs);
    std::vector<T> right(count);
    std::vector<T> ours(count);
    CHECK(cudaMemcpy(right.data(), expected, count * sizeof(T), cudaMemcpyDefault));
    for (const fast::Algorithm algorithm : algorithms) {
      if (algorithm == fast::Algorithm::ll && 16 * fast::pack_count<T>(count) > ll_bytes) {
        if (ranks.rank == 0) std::printf("%12s", "-");
        continue;
      }
      int resident = 0;
      CHECK((fast::resident_blocks<T, fast::Sum>(algorithm, ranks.size, ranks.sharing, resident)));
      const int blocks = fast::blocks_for(fast::pack_count<T>(count), resident);
      CHECK(cudaMemsetAsync(out, 0xff, count * sizeof(T), stream));
      const auto run = [&] {
        CHECK((fast::allreduce<T, fast::Sum>(algorithm, team, in, out, count, blocks, stream)));
      };
      // Loads the kernel before a peer can wait for it.
      CHECK(cudaStreamSynchronize(stream));
      MPI_Barrier(MPI_COMM_WORLD);
      run();
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaMemcpy(ours.data(), out, count * sizeof(T), cudaMemcpyDefault));
      const bool same = std::memcmp(ours.data(), right.data(), count * sizeof(T)) == 0;
      if (!same || shared.status() != 0) ++wrong;
      const double time = time_in_graph(stream, bytes <= 1 << 20 ? 100 : 5, run);
      if (ranks.rank == 0) std::printf(same ? "%12.2f" : "%7.2f WRONG", time);
    }
    if (ranks.rank == 0) std::printf("\n");
  }
  CHECK(cudaFree(copy));
  CHECK(cudaFree(expected));
  CHECK(cudaStreamDestroy(stream));
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  const bool on_cpu = argc == 2 && std::strcmp(argv[1], "--cpu") == 0;
  if (argc > 1 && !on_cpu) {
    if (ranks.rank == 0) std::fprintf(stderr, "usage: driver [--cpu]\n");
    MPI_Finalize();
    return 2;
  }
  if (on_cpu) {  // no call of CUDA or NCCL
    const int code = driver_cpu::run();
    MPI_Finalize();
    return code;
  }
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0 || ranks.size > fast::max_ranks) {
    if (ranks.rank == 0) {
      std::fprintf(stderr, "needs a GPU and at most %d ranks, or --cpu\n", fast::max_ranks);
    }
    MPI_Finalize();
    return 1;
  }
  CHECK(cudaSetDevice(ranks.rank % gpus));
  ranks.sharing = (ranks.size + gpus - 1) / gpus;
  if (ranks.rank == 0) {
    std::printf("%d ranks on %d GPU(s)%s\n", ranks.size, std::min(gpus, ranks.size),
                ranks.sharing > 1 ? "; they share it: these are not times of NVLink" : "");
  }
  SharedBuffer shared(ranks);
  ncclComm_t nccl = connect_nccl(ranks);
  int wrong = compare<float>(ranks, shared, nccl, ncclFloat, "float");
  wrong += compare<__half>(ranks, shared, nccl, ncclHalf, "half");
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (ranks.rank == 0) std::printf("%d wrong\n", wrong);
  CHECK(ncclCommDestroy(nccl));
  shared.release(ranks);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
