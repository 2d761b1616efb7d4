#include "io/file_lock.hpp"

#include <weft/core/error.hpp>

#include "core/printable.hpp"
#include "io/file.hpp"
#include "io/partial_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

namespace weft::detail {
namespace {

constexpr const char* check_folder = "check that the folder exists and may be written by rank 0";
// A lock file that disappears this often while we open it is replaced on purpose.
constexpr int most_attempts = 100;
constexpr std::string_view mark = "process ";

/// The content of a lock file: "process 123 on host\n<name of its temporary file>\n". It may be
/// incomplete if the owner was killed.
struct Note {
  std::string owner;
  std::string partial_name;
};

Note read_note(int descriptor) {
  std::array<char, 1024> bytes{};
  const ssize_t length = ::pread(descriptor, bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t first = text.find('\n');
  if (first == std::string_view::npos) return {std::string(text), {}};
  const std::string_view rest = text.substr(first + 1);
  return {std::string(text.substr(0, first)), std::string(rest.substr(0, rest.find('\n')))};
}

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("{}{} on {}", mark, ::getpid(), host.data());
}

/// Whether the path still refers to the open file; sets errno if that is unknown.
bool has_file(int descriptor, const std::string& path) noexcept {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Refuses a file with other content, which must not be overwritten.
void require_lock_file(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_call("lock", path, "check the file system");
  if (!S_ISREG(status.st_mode))
    throw Error(fmt::format("cannot lock '{}': it is not a regular file; remove it", path));
  // A file without a name was removed by its last owner.
  if (status.st_nlink > 1 ||
      (status.st_size > 0 && !read_note(descriptor).owner.starts_with(mark))) {
    throw Error(fmt::format(
        "cannot lock '{}': the file is not a lock; move it, or use another path", path));
  }
}

}  // namespace

FileLock::FileLock(const std::string& path)
    : target_(resolve_path(path).path), path_(target_ + ".lock") {
  try {
    int attempts = 0;
    while (!try_to_lock()) {
      if (++attempts == most_attempts)
        throw Error(
            fmt::format("cannot lock '{}': another process keeps replacing the file", path_));
    }
    remove_leftover();
    write_note("");
  } catch (...) {
    if (held_) ::unlink(path_.c_str());
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

// Removed before the lock is released: later processes create a new file, and those that have it
// open see that it has no name.
FileLock::~FileLock() {
  if (has_file(descriptor_, path_)) ::unlink(path_.c_str());
  ::close(descriptor_);
}

/// False if the file was removed by its last owner after it was opened here.
bool FileLock::try_to_lock() {
  constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  do {
    descriptor_ = ::open(path_.c_str(), flags, 0666);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) fail_call("lock", path_, check_folder);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      throw Error(fmt::format(
          "'{}' is in use by another job or solver ({}); wait until that has ended, or use "
          "another path",
          target_, printable(read_note(descriptor_).owner)));
    }
    if (errno != ENOSYS && errno != EOPNOTSUPP) fail_call("lock", path_, check_folder);
  }
  require_lock_file(descriptor_, path_);
  errno = 0;
  held_ = has_file(descriptor_, path_);
  if (!held_ && errno != 0 && errno != ENOENT) fail_call("lock", path_, "check the file system");
  if (!held_) ::close(std::exchange(descriptor_, -1));
  return held_;
}

void FileLock::remove_leftover() const {
  const auto [folder, name] = split_path(target_);
  const std::string left = read_note(descriptor_).partial_name;
  if (is_partial_name(left, name)) ::unlink((folder + left).c_str());
}

void FileLock::note_partial(const std::string& partial_path) const {
  write_note(split_path(partial_path).name);
}

void FileLock::write_note(const std::string& partial_name) const {
  const std::string text = this_process() + "\n" + partial_name + "\n";
  const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
  if (written >= 0 && written != static_cast<ssize_t>(text.size())) errno = ENOSPC;
  if (written != static_cast<ssize_t>(text.size()) ||
      ::ftruncate(descriptor_, static_cast<off_t>(text.size())) != 0)
    fail_call("write", path_, "check that the disk has enough space");
}

}  // namespace weft::detail
