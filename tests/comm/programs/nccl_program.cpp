// Errors of ranks when a peer is missing or dies in an NCCL call. Started by mpirun with the
// argument `late` or `dead`; exits with 0 if rank 0 got the expected error, 77 without a GPU.

#include <weft/comm/launch.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace weft;

namespace {

constexpr int skipped = 77;

/// Ends this process at once: MPI would wait for the lost rank.
[[noreturn]] void leave(int rank, bool right, const std::string& what) {
  std::fprintf(stderr, "rank %d %s: %s\n", rank, right ? "as it should" : "WRONG", what.c_str());
  std::_Exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// Sums on the GPU and reads the result, which is where a lost peer is detected.
double total(const Comm& comm, Buffer<double>& data) {
  double value = 1;
  copy_bytes(data.data(), data.device(), &value, Device::cpu(), sizeof(value));
  comm.allreduce(data);
  copy_bytes(&value, Device::cpu(), data.data(), data.device(), sizeof(value));
  return value;
}

template <class Expected>
[[noreturn]] void expect_error(const Comm& comm, Buffer<double>& data) {
  const auto start = std::chrono::steady_clock::now();
  std::string seen = "no error";
  bool right = false;
  try {
    for (int i = 0; i < 1000; ++i) total(comm, data);
  } catch (const Expected& error) {
    seen = error.what();
    right = true;
  } catch (const std::exception& error) {
    seen = error.what();
  }
  // A broken communicator keeps throwing the same error.
  std::string again;
  try {
    comm.allreduce(data);
  } catch (const std::exception& error) {
    again = error.what();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  leave(comm.rank(), right && again == seen && seconds < 20,
        fmt::format("{} (after {:.1f} s)", seen, seconds));
}

}  // namespace

int main(int argc, char** argv) {
  if (device_count(DeviceKind::cuda) == 0) {
    std::fprintf(stderr, "skipped: there is no GPU\n");  // matched by CTest
    return skipped;
  }
  setenv("WEFT_DEVICE_COMM", "nccl", 1);
  setenv("WEFT_TIMEOUT", "3", 1);
  const std::string mode = argc > 1 ? argv[1] : "";
  return launch(argc, argv, [&](const Comm& world) {
    setenv("NCCL_HOSTID", std::to_string(world.rank()).c_str(), 1);
    const Comm comm = world.on(Device::cuda());
    Buffer<double> data(1, Device::cuda());
    if (total(comm, data) != comm.size()) leave(comm.rank(), false, "a wrong sum");
    world.barrier();
    const bool lost = comm.rank() == comm.size() - 1;
    if (mode == "late") {
      if (!lost) expect_error<TimeoutError>(comm, data);
      std::this_thread::sleep_for(std::chrono::seconds(15));
      leave(comm.rank(), true, "came too late");
    }
    if (lost) std::raise(SIGKILL);
    expect_error<CommError>(comm, data);
  });
}
