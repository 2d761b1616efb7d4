#pragma once

#include <weft/comm/comm.hpp>

#include <functional>

namespace weft::test {

/// The kind of ranks in tests, from the environment variable WEFT_TEST_COMM.
enum class World { thread, mpi, self };
World world();

/// The number of ranks of on_ranks: WEFT_TEST_RANKS threads (default 2), those of the MPI job,
/// or 1.
int ranks();

/// A device whose memory the host cannot access: WEFT_TEST_DEVICE, or debug.
Device other_device();

/// The device of the memory that tests of communication send: other_device() if WEFT_TEST_MEMORY is
/// "device", else cpu.
Device message_device();

/// Runs `body` on every rank with a new communicator. Rethrows its exception; with threads, that of
/// the first rank to fail. A failed ASSERT on one rank ends the waits of the others, and rank 0
/// fails with any other rank.
void on_ranks(const std::function<void(Comm)>& body);

/// RUN_ALL_TESTS in the requested world; returns the exit code.
int run_all_tests(int& argc, char** argv);

}  // namespace weft::test
