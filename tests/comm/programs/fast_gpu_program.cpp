// Failures of processes that share a GPU on the route "fast". Started by mpirun with the name of a
// failure. The job ends with a message of Weft, within the time limit of 3 s and a little more, or
// rank 0 prints "as it should"; see tests/CMakeLists.txt.

#include <weft/comm/launch.hpp>
#include <weft/comm/registered_memory.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/graph.hpp>
#include <weft/core/stream.hpp>

#include <cuda_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

using namespace weft;

namespace {

constexpr int skipped = 77;
constexpr index_t count = 1 << 20;
constexpr Device gpu = Device::cuda();

bool is_last(const Comm& comm) { return comm.rank() == comm.size() - 1; }

/// Ends this process at once: MPI would wait for the lost rank.
[[noreturn]] void leave(int rank, bool right, const std::string& what) {
  std::fprintf(stderr, "rank %d %s: %s\n", rank, right ? "as it should" : "WRONG", what.c_str());
  std::_Exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// The last rank is killed when nothing runs on the GPU: what becomes of work that a killed process
/// has on the GPU under the multi-process service is undefined.
void killed(const Comm& comm) {
  Buffer<float> data(count, gpu);
  comm.allreduce(data);
  comm.barrier();
  if (is_last(comm)) std::raise(SIGKILL);
  comm.allreduce(data);
  Stream::current(gpu).synchronize();
}

/// The last rank throws while the others have launched a graph that waits for it.
void throws(const Comm& comm) {
  Buffer<float> data(count, gpu);
  const Graph graph = Graph::capture(gpu, [&] { comm.allreduce(data); });
  graph.launch();
  comm.barrier();
  if (is_last(comm)) throw std::runtime_error("the sky is falling");
  graph.launch();
  Stream::current(gpu).synchronize();
}

/// The last rank passes memory that is not registered.
void unlike(const Comm& comm) {
  const RegisteredMemory memory = RegisteredMemory::allocate(comm, 4 * count);
  if (!memory.is_direct()) leave(comm.rank(), false, memory.obstacle());
  Buffer<float> other(count, gpu);
  comm.barrier();
  comm.allreduce(is_last(comm) ? BufferRef(other) : memory.as<float>());
  Stream::current(gpu).synchronize();
}

/// The registration has ended, but a graph still uses it; another one has taken its index.
void ended(const Comm& comm) {
  void* data = nullptr;
  cudaMalloc(&data, 4 * count);
  const BufferRef memory(static_cast<float*>(data), count, gpu);
  RegisteredMemory registered(comm, memory);
  if (!registered.is_direct()) leave(comm.rank(), false, registered.obstacle());
  const Graph graph = Graph::capture(gpu, [&] { comm.allreduce(memory); });
  graph.launch();
  registered = RegisteredMemory();
  const RegisteredMemory other = RegisteredMemory::allocate(comm, 4 * count);
  graph.launch();
  Stream::current(gpu).synchronize();
}

/// All ranks free memory that is registered.
void freed(const Comm& comm) {
  void* data = nullptr;
  cudaMalloc(&data, 4 * count);
  const BufferRef memory(static_cast<float*>(data), count, gpu);
  const RegisteredMemory registered(comm, memory);
  if (!registered.is_direct()) leave(comm.rank(), false, registered.obstacle());
  comm.allreduce(memory);
  comm.barrier();
  cudaFree(data);
  comm.barrier();
  std::string seen = "no error";
  try {
    comm.allreduce(memory);
  } catch (const ArgumentError& error) {
    seen = error.what();
  }
  leave(comm.rank(), seen.find("have been freed while they were registered") != std::string::npos,
        seen);
}

}  // namespace

int main(int argc, char** argv) {
  if (device_count(DeviceKind::cuda) == 0) {
    std::fprintf(stderr, "skipped: there is no GPU\n");  // matched by CTest
    return skipped;
  }
  setenv("WEFT_DEVICE_COMM", "fast", 1);
  setenv("WEFT_TIMEOUT", "3", 1);
  const std::string mode = argc > 1 ? argv[1] : "";
  return launch(argc, argv, [&](const Comm& world) {
    const Comm comm = world.on(gpu);
    if (mode == "killed") return killed(comm);
    if (mode == "throws") return throws(comm);
    if (mode == "unlike") return unlike(comm);
    if (mode == "ended") return ended(comm);
    if (mode == "freed") return freed(comm);
    throw std::runtime_error("unknown failure: " + mode);
  });
}
