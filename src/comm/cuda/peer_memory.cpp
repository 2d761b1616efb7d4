#include "comm/peer_memory.hpp"

#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/gather_objects.hpp"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
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

/// Memory that other processes have mapped, and their memory that this process has mapped. Both
/// stay for the life of the process: communicators end at different times on different ranks, so
/// nobody knows when the last mapping is gone. Parts of ended communicators are used again.
class ExportHeap {
 public:
  static ExportHeap& instance() {
    static ExportHeap heap;
    return heap;
  }

  /// Null without enough memory.
  std::byte* take(Device device, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::byte*>& free = free_[{device.ordinal, bytes}];
    if (!free.empty()) {
      std::byte* const part = free.back();
      free.pop_back();
      return part;
    }
    void* part = nullptr;
    if (cudaMalloc(&part, bytes) == cudaSuccess) return static_cast<std::byte*>(part);
    cudaGetLastError();  // or a later call would report it
    return nullptr;
  }
  void give_back(Device device, std::size_t bytes, std::byte* part) {
    const std::scoped_lock lock(mutex_);
    free_[{device.ordinal, bytes}].push_back(part);
  }
  cudaError_t map(const cudaIpcMemHandle_t& handle, std::byte*& mapped) {
    const std::scoped_lock lock(mutex_);
    std::byte*& known = mapped_[std::bit_cast<Key>(handle)];
    if (known == nullptr) {
      void* address = nullptr;
      const cudaError_t error =
          cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess);
      if (error != cudaSuccess) return cudaGetLastError();
      known = static_cast<std::byte*>(address);
    }
    mapped = known;
    return cudaSuccess;
  }

 private:
  using Key = std::array<std::byte, sizeof(cudaIpcMemHandle_t)>;

  std::mutex mutex_;
  std::map<std::pair<int, std::size_t>, std::vector<std::byte*>> free_;  // by device and bytes
  std::map<Key, std::byte*> mapped_;
};

/// Whole blocks of the driver: a handle names a block, not the part of it that was asked for.
std::size_t exported_bytes(std::size_t bytes) {
  constexpr std::size_t block = 2 << 20;
  return (bytes + block - 1) / block * block;
}

/// The word by which a rank proves that it writes to a part.
std::uint64_t proof(int rank) { return 0x77656674ULL << 32 | static_cast<std::uint64_t>(rank + 1); }

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
  const std::uint64_t written = proof(host.rank());
  cudaError_t error = cudaSuccess;
  for (std::byte* part : memory->parts_) {
    const cudaError_t next = cudaMemcpyAsync(part + at(host.rank()) * sizeof(written), &written,
                                             sizeof(written), cudaMemcpyHostToDevice, cuda_stream);
    if (next != cudaSuccess) error = next;
  }
  synchronize(error);
  std::vector<std::uint64_t> read(at(host.size()));
  bool same = true;
  for (std::byte* part : memory->parts_) {
    std::fill(read.begin(), read.end(), 0);
    cudaError_t next = cudaMemcpyAsync(read.data(), part, read.size() * sizeof(read[0]),
                                       cudaMemcpyDeviceToHost, cuda_stream);
    if (next == cudaSuccess) next = cudaStreamSynchronize(cuda_stream);
    if (next != cudaSuccess) error = next;
    for (int rank = 0; rank < host.size(); ++rank) same = same && read[at(rank)] == proof(rank);
  }
  agree({Step::access, error});
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
