#include "io/file.hpp"

#include <weft/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>
#include <utility>

namespace weft::detail {
namespace {

// One system call transfers at most 2 GiB.
constexpr index_t most_at_once = index_t{1} << 30;
constexpr int most_links = 40;

constexpr const char* check_disk = "check the file system";

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_regular(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return;
  throw Error(
      fmt::format("'{}' is {}, not a regular file; use the path of a file", path, kind_of(mode)));
}

/// The system would ignore everything after a zero byte.
const char* checked(const std::string& path) {
  if (path.empty()) throw Error("the path of a file is empty; use the path of a file");
  if (path.find('\0') != std::string::npos)
    throw Error(fmt::format("the path '{}' contains a zero byte; use another path", path.c_str()));
  return path.c_str();
}

/// Repeats a call while signals interrupt it.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) fail_call("read the symbolic link", path, check_disk);
  return {target.data(), static_cast<std::size_t>(length)};
}

}  // namespace

void fail_call(const char* what, const std::string& path, const char* advice) {
  const int code = errno;
  throw Error(fmt::format("cannot {} '{}': {}; {}", what, path,
                          std::generic_category().message(code), advice));
}

// Opening a FIFO without a peer blocks, and a terminal could become the controlling one.
File::File(std::string path, int flags)
    : path_(std::move(path)), descriptor_(retried([&] {
        return ::open(checked(path_), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
      })) {
  const bool reading = (flags & O_ACCMODE) == O_RDONLY;
  struct stat status {};
  if (descriptor_ < 0) {
    const int code = errno;
    if (::stat(path_.c_str(), &status) == 0) require_regular(path_, status.st_mode);
    errno = code;
    fail_call(reading ? "read" : "write", path_,
              reading ? "check that the file exists and may be read on every rank"
                      : "check that the folder exists and may be written on every rank");
  }
  if ((flags & O_EXCL) != 0) return;  // it is new and regular
  try {
    if (::fstat(descriptor_, &status) != 0) fail_call("read the status of", path_, check_disk);
    require_regular(path_, status.st_mode);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

File File::open(const std::string& path) { return {path, O_RDONLY}; }
File File::open_for_writing(const std::string& path) { return {path, O_WRONLY | O_NOFOLLOW}; }
File File::create(const std::string& path) {
  return {path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW};
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

// Errors of close are ignored: data have been synced or are discarded.
File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

index_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail_call("read the size of", path_, check_disk);
  return status.st_size;
}

void File::resize(index_t bytes) const {
  if (retried([&] { return ::ftruncate(descriptor_, bytes); }) != 0)
    fail_call("allocate space in", path_, "check that the disk has enough space");
}

void File::read(void* to, index_t bytes, index_t offset) const {
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes, most_at_once));
    const ssize_t got = retried([&] { return ::pread(descriptor_, next, wanted, offset); });
    if (got < 0) fail_call("read", path_, check_disk);
    if (got == 0) {
      throw Error(
          fmt::format("'{}' is not complete: it ends after {} bytes, but {} more are expected; "
                      "copy or create it again",
                      path_, size(), bytes));
    }
    next += got;
    offset += got;
    bytes -= got;
  }
}

void File::write(const void* from, index_t bytes, index_t offset) const {
  const auto* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes, most_at_once));
    const ssize_t put = retried([&] { return ::pwrite(descriptor_, next, wanted, offset); });
    // A device that accepts nothing and reports no error would loop forever.
    if (put == 0) errno = ENOSPC;
    if (put <= 0) fail_call("write", path_, "check that the disk has enough space");
    next += put;
    offset += put;
    bytes -= put;
  }
}

void File::sync() const {
  if (retried([&] { return ::fsync(descriptor_); }) != 0)
    fail_call("write", path_, "check that the disk has enough space");
}

ResolvedPath resolve_path(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= most_links; ++links) {
    struct stat status {};
    if (::lstat(checked(at), &status) != 0) {
      if (errno == ENOENT) return {at, false};
      fail_call("read the status of", at, "check the path and its permissions");
    }
    if (!S_ISLNK(status.st_mode)) {
      require_regular(at, status.st_mode);
      return {at, true};
    }
    const std::string target = link_target(at);
    const std::size_t folder = at.rfind('/');
    at = target.starts_with('/') || folder == std::string::npos ? target
                                                                : at.substr(0, folder + 1) + target;
  }
  errno = ELOOP;
  fail_call("follow the symbolic link", path, "check its target");
}

}  // namespace weft::detail
