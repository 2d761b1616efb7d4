#include "faults/files/interposer.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>

namespace weft::faults {
namespace {

constexpr int most_faults = 2;
constexpr int most_descriptors = 4096;

std::string folder;
std::array<Fault, most_faults> faults;
int fault_count = 0;
std::array<std::atomic<int>, call_count> counts;
std::atomic<bool> watching = false;
std::atomic<bool> fired = false;
std::atomic<bool> predicted = false;
unsigned long long entropy = 0;
std::array<std::atomic<bool>, most_descriptors> is_watched;

bool concerns(const char* path) { return watching && std::string_view(path).starts_with(folder); }
bool concerns(int descriptor) {
  return watching && descriptor >= 0 && descriptor < most_descriptors &&
         is_watched[static_cast<std::size_t>(descriptor)];
}
void mark(int descriptor, bool value) {
  if (descriptor >= 0 && descriptor < most_descriptors)
    is_watched[static_cast<std::size_t>(descriptor)] = value;
}

/// Counts a call, and returns its fault, if any.
const Fault* next(Call call) {
  const int number = ++counts[static_cast<std::size_t>(call)];
  for (int i = 0; i < fault_count; ++i) {
    const Fault& fault = faults[static_cast<std::size_t>(i)];
    if (fault.call != call) continue;
    if (number == fault.number || (fault.stays && number > fault.number)) {
      fired = true;
      return &fault;
    }
  }
  return nullptr;
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// work(whole) makes the real call, for half of the bytes unless `whole`.
template <class Work>
auto with_fault(Call call, Work work) {
  const Fault* fault = next(call);
  if (fault == nullptr) return work(true);
  using Result = decltype(work(true));
  switch (fault->action) {
    case Action::fail: break;
    case Action::fail_after: work(true); break;
    case Action::cut_short: return work(false);
    case Action::kill_before: die();
    case Action::kill_within: work(false); die();
    case Action::kill_after: work(true); die();
  }
  errno = fault->error;
  return static_cast<Result>(-1);
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::size_t part_of(std::size_t bytes, bool whole) { return whole ? bytes : (bytes + 1) / 2; }

}  // namespace

std::string_view to_string(Call call) {
  constexpr std::array<std::string_view, call_count> names = {
      "open",  "pread", "pwrite", "fsync", "ftruncate", "rename", "unlink",
      "close", "fstat", "stat",   "lstat", "readlink",  "flock",  "getentropy"};
  return names[static_cast<std::size_t>(call)];
}

std::string_view to_string(Action action) {
  constexpr std::array<std::string_view, 6> names = {"fails",
                                                     "succeeds but reports an error",
                                                     "is short",
                                                     "is preceded by SIGKILL",
                                                     "is interrupted by SIGKILL",
                                                     "is followed by SIGKILL"};
  return names[static_cast<std::size_t>(action)];
}

std::string to_string(const Fault& fault) {
  std::string text =
      fmt::format("{} number {} {}", to_string(fault.call), fault.number, to_string(fault.action));
  if (fault.action == Action::fail || fault.action == Action::fail_after)
    text += fmt::format(" ({})", std::strerror(fault.error));
  return text + (fault.stays ? ", like all later ones" : "");
}

void watch(const std::string& path) {
  disarm();
  folder = path;
  fault_count = 0;
  for (auto& count : counts) count = 0;
  fired = false;
  predicted = false;
  watching = true;
}

void arm(const Fault& fault) { faults[static_cast<std::size_t>(fault_count++)] = fault; }

std::array<int, call_count> calls() {
  std::array<int, call_count> all{};
  std::copy(counts.begin(), counts.end(), all.begin());
  return all;
}

bool has_fired() { return fired; }
void disarm() { watching = false; }

void predict_entropy(unsigned long long bits) {
  entropy = bits;
  predicted = true;
}

}  // namespace weft::faults

// Replacements of functions of the C library.

namespace faults = weft::faults;
using faults::Call;

extern "C" int open(const char* path, int flags, ...) {
  static auto* const real = faults::real<int(const char*, int, ...)>("open");
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (!faults::concerns(path)) return real(path, flags, mode);
  const int descriptor =
      faults::with_fault(Call::open, [&](bool) { return real(path, flags, mode); });
  faults::mark(descriptor, true);
  return descriptor;
}

extern "C" int close(int descriptor) {
  static auto* const real = faults::real<int(int)>("close");
  if (!faults::concerns(descriptor)) return real(descriptor);
  faults::mark(descriptor, false);
  // Whatever close reports, the descriptor is gone.
  bool done = false;
  const int result = faults::with_fault(Call::close, [&](bool) {
    done = true;
    return real(descriptor);
  });
  const int error = errno;
  if (!done) real(descriptor);
  errno = error;
  return result;
}

extern "C" ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
  static auto* const real = faults::real<ssize_t(int, void*, size_t, off_t)>("pread");
  if (!faults::concerns(descriptor)) return real(descriptor, to, bytes, offset);
  return faults::with_fault(Call::pread, [&](bool whole) {
    return real(descriptor, to, faults::part_of(bytes, whole), offset);
  });
}

extern "C" ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t offset) {
  static auto* const real = faults::real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (!faults::concerns(descriptor)) return real(descriptor, from, bytes, offset);
  return faults::with_fault(Call::pwrite, [&](bool whole) {
    return real(descriptor, from, faults::part_of(bytes, whole), offset);
  });
}

extern "C" int fsync(int descriptor) {
  static auto* const real = faults::real<int(int)>("fsync");
  if (!faults::concerns(descriptor)) return real(descriptor);
  return faults::with_fault(Call::fsync, [&](bool) { return real(descriptor); });
}

extern "C" int ftruncate(int descriptor, off_t bytes) noexcept {
  static auto* const real = faults::real<int(int, off_t)>("ftruncate");
  if (!faults::concerns(descriptor)) return real(descriptor, bytes);
  return faults::with_fault(Call::ftruncate, [&](bool) { return real(descriptor, bytes); });
}

extern "C" int rename(const char* from, const char* to) noexcept {
  static auto* const real = faults::real<int(const char*, const char*)>("rename");
  if (!faults::concerns(from)) return real(from, to);
  return faults::with_fault(Call::rename, [&](bool) { return real(from, to); });
}

extern "C" int unlink(const char* path) noexcept {
  static auto* const real = faults::real<int(const char*)>("unlink");
  if (!faults::concerns(path)) return real(path);
  return faults::with_fault(Call::unlink, [&](bool) { return real(path); });
}

extern "C" int fstat(int descriptor, struct stat* status) noexcept {
  static auto* const real = faults::real<int(int, struct stat*)>("fstat");
  if (!faults::concerns(descriptor)) return real(descriptor, status);
  return faults::with_fault(Call::fstat, [&](bool) { return real(descriptor, status); });
}

extern "C" int stat(const char* path, struct stat* status) noexcept {
  static auto* const real = faults::real<int(const char*, struct stat*)>("stat");
  if (!faults::concerns(path)) return real(path, status);
  return faults::with_fault(Call::stat, [&](bool) { return real(path, status); });
}

extern "C" int lstat(const char* path, struct stat* status) noexcept {
  static auto* const real = faults::real<int(const char*, struct stat*)>("lstat");
  if (!faults::concerns(path)) return real(path, status);
  return faults::with_fault(Call::lstat, [&](bool) { return real(path, status); });
}

extern "C" ssize_t readlink(const char* path, char* to, size_t bytes) noexcept {
  static auto* const real = faults::real<ssize_t(const char*, char*, size_t)>("readlink");
  if (!faults::concerns(path)) return real(path, to, bytes);
  return faults::with_fault(Call::readlink, [&](bool) { return real(path, to, bytes); });
}

extern "C" int flock(int descriptor, int operation) noexcept {
  static auto* const real = faults::real<int(int, int)>("flock");
  if (!faults::concerns(descriptor)) return real(descriptor, operation);
  return faults::with_fault(Call::flock, [&](bool) { return real(descriptor, operation); });
}

extern "C" int getentropy(void* to, size_t bytes) {
  static auto* const real = faults::real<int(void*, size_t)>("getentropy");
  if (!faults::watching) return real(to, bytes);
  return faults::with_fault(Call::getentropy, [&](bool) {
    if (!faults::predicted || bytes != sizeof(faults::entropy)) return real(to, bytes);
    std::memcpy(to, &faults::entropy, bytes);
    return 0;
  });
}
