#include "faults/support/process.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace weft::faults {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> chunk;
  lseek(file, 0, SEEK_SET);
  for (;;) {
    const ssize_t length = read(file, chunk.data(), chunk.size());
    if (length <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(length));
  }
}

/// Waits until the process has ended or a time has passed.
bool wait_until(pid_t process, std::int64_t deadline, int& status) {
  for (;;) {
    const pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process) return true;
    if (ended < 0) fail("waitpid");
    if (now() > deadline) return false;
    usleep(500);
  }
}

/// First with SIGTERM, so that a launcher can end its processes.
void kill_process(pid_t process, int& status) {
  constexpr std::int64_t patience = 3'000'000'000;
  kill(process, SIGTERM);
  if (wait_until(process, now() + patience, status)) return;
  kill(process, SIGKILL);
  waitpid(process, &status, 0);
}

}  // namespace

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Ended run_process(const std::function<int()>& body, double seconds,
                  const std::function<void()>& kill_rest) {
  const int output = memfd_create("output", 0);
  if (output < 0) fail("memfd_create");
  std::fflush(nullptr);  // otherwise the child would write it again
  const pid_t process = fork();
  if (process < 0) fail("fork");
  if (process == 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(output);
    std::exit(body());
  }
  Ended ended;
  int status = 0;
  if (!wait_until(process, now() + static_cast<std::int64_t>(seconds * 1e9), status)) {
    ended.hung = true;
    kill_process(process, status);
    if (kill_rest) kill_rest();
  }
  ended.at = now();
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  ended.output = read_all(output);
  close(output);
  return ended;
}

}  // namespace weft::faults
