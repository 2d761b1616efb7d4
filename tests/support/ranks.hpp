#pragma once

#include <weft/comm/comm.hpp>

#include <functional>

namespace weft::test {

/// What the ranks of the tests are, by the environment variable WEFT_TEST_COMM.
enum class World { thread, mpi, self };
World world();

/// How many ranks on_ranks runs on: WEFT_TEST_RANKS threads (default 2), those of the MPI job,
/// or 1.
int ranks();

/// A device whose memory the host cannot touch: WEFT_TEST_DEVICE, or debug, which every machine
/// has.
Device other_device();

/// The device whose memory tests of communication send: other_device() if the environment variable
/// WEFT_TEST_MEMORY is "device", else cpu.
Device message_device();

/// Runs `body` on every rank, on a communicator of its own. What it throws is thrown here; with
/// threads, by the first rank that failed. A rank that leaves by a failed ASSERT ends the others'
/// wait for it, and rank 0 fails with any other.
void on_ranks(const std::function<void(Comm)>& body);

/// RUN_ALL_TESTS in the world that was asked for; returns the exit code.
int run_all_tests(int& argc, char** argv);

}  // namespace weft::test
