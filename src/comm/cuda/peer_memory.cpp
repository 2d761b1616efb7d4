#include "comm/peer_memory.hpp"

#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/cuda/export_heap.hpp"
#include "comm/gather_objects.hpp"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <random>
#include <string>
#include <utility>

namespace weft::detail {
namespace {

/// A step of making the memory, and the CUDA error that ended it.
struct Step {
  enum Kind : std::int32_t { allocate, export_part, map, access, compare };
  Kind kind = allocate;
  std::int32_t error = cudaSuccess;
};

std::string describe(const Step& step, int rank, std::size_t bytes) {
  const char* error = cudaGetErrorString(static_cast<cudaError_t>(step.error));
  switch (step.kind) {
    case Step::allocate:
      return fmt::format("rank {} cannot allocate {} bytes of GPU memory for other ranks: {}", rank,
                         bytes, error);
    case Step::export_part:
      return fmt::format("rank {} cannot export GPU memory to other processes: {}", rank, error);
    case Step::map:
      return fmt::format("rank {} cannot map the GPU memory of another process: {}", rank, error);
    case Step::access:
      return fmt::format("rank {} cannot access the GPU memory of another rank: {}", rank, error);
    case Step::compare: break;
  }
  return fmt::format("rank {} does not see what other ranks write to its GPU memory", rank);
}

/// The name under which other ranks find a part.
struct PartName {
  std::uint64_t process = 0;
  std::uint64_t address = 0;
  cudaIpcMemHandle_t handle = {};
  Step step;
};

std::uint64_t this_process() {
  static const std::uint64_t token = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return token;
}

/// Lets threads on other GPUs access the memory of this one, and its kernels theirs, where the GPUs
/// are connected. Does not report errors: the proof of access does.
void connect_gpus(Device device) {
  int count = 0;
  cudaMemPool_t pool = nullptr;
  cudaGetDeviceCount(&count);
  cudaDeviceGetDefaultMemPool(&pool, device.ordinal);
  for (int peer = 0; peer < count; ++peer) {
    int connected = 0;
    if (peer != device.ordinal) cudaDeviceCanAccessPeer(&connected, device.ordinal, peer);
    if (connected == 0) continue;
    cudaDeviceEnablePeerAccess(peer, 0);  // memory of cudaMalloc there
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = peer;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    cudaMemPoolSetAccess(pool, &access, 1);
  }
  cudaGetLastError();  // access may have been enabled before
}

}  // namespace

std::unique_ptr<PeerMemory> PeerMemory::make(Transport& host, Device device, std::size_t bytes) {
  std::unique_ptr<PeerMemory> memory(new PeerMemory(device, exported_bytes(bytes)));
  const Stream stream = Stream::current(device);
  auto* const cuda_stream = static_cast<cudaStream_t>(stream.handle());
  const auto agree = [&](const Step& mine) {
    const auto steps = gather_objects(host, mine);
    for (int rank = 0; rank < host.size(); ++rank) {
      const Step& step = steps[at(rank)];
      if (step.error != cudaSuccess) throw CommError(describe(step, rank, memory->bytes_));
    }
  };

  const std::vector<std::uint64_t> processes = gather_objects(host, this_process());
  bool one_process = true;
  for (const std::uint64_t process : processes) one_process &= process == this_process();

  PartName name;
  name.process = this_process();
  std::byte* mine = nullptr;
  if (one_process) {
    const std::vector<int> gpus = gather_objects(host, device.ordinal);
    if (std::count(gpus.begin(), gpus.end(), gpus[0]) != host.size()) connect_gpus(device);
    // From the pool, which allocates while kernels run; cudaMalloc may wait for kernels that wait
    // for this rank.
    try {
      memory->pooled_ = Buffer<std::byte>(static_cast<index_t>(memory->bytes_), device);
      mine = memory->pooled_.data();
    } catch (const DeviceError&) {
      name.step = {Step::allocate, cudaErrorMemoryAllocation};
    }
  } else {
    memory->exported_ = ExportHeap::instance().take(device, memory->bytes_);
    mine = memory->exported_;
    if (mine == nullptr) {
      name.step = {Step::allocate, cudaErrorMemoryAllocation};
    } else if (const cudaError_t error = cudaIpcGetMemHandle(&name.handle, mine)) {
      name.step = {Step::export_part, error};
    }
  }
  name.address = reinterpret_cast<std::uintptr_t>(mine);
  const std::vector<PartName> names = gather_objects(host, name);
  agree(name.step);

  Step step = {Step::map, cudaSuccess};
  for (const PartName& each : names) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in this process
    auto* part = reinterpret_cast<std::byte*>(each.address);
    if (each.process != this_process()) {
      const cudaError_t error = ExportHeap::instance().map(each.handle, part);
      if (error != cudaSuccess) step.error = error;
    }
    memory->parts_.push_back(part);
  }
  agree(step);

  // Zero, prove, zero again; between the steps all ranks have completed theirs.
  const auto synchronize = [&](cudaError_t error) {
    if (error == cudaSuccess) error = cudaStreamSynchronize(cuda_stream);
    agree({Step::access, error});
  };
  synchronize(cudaMemsetAsync(mine, 0, memory->bytes_, cuda_stream));
  synchronize(write_proofs(memory->parts_, host.rank(), cuda_stream));
  bool same = true;
  agree({Step::access, read_proofs(memory->parts_, cuda_stream, same)});
  agree({Step::compare, same ? cudaSuccess : cudaErrorUnknown});
  synchronize(cudaMemsetAsync(mine, 0, memory->bytes_, cuda_stream));
  return memory;
}

PeerMemory::~PeerMemory() {
  if (leaked_) {
    static_cast<void>(new (std::nothrow) Buffer<std::byte>(std::move(pooled_)));
  } else if (exported_ != nullptr) {
    ExportHeap::instance().give_back(device_, bytes_, exported_);
  }
}

}  // namespace weft::detail
