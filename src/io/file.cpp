#include "io/file.hpp"

#include <weft/core/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace weft::detail {
namespace {

// Systems take no more than 2 GiB in one call.
constexpr index_t most_at_once = index_t{1} << 30;

[[noreturn]] void fail(const char* what, const std::string& path, const char* advice) {
  const int code = errno;
  throw Error(fmt::format("cannot {} '{}': {}; {}", what, path,
                          std::generic_category().message(code), advice));
}

/// The name of a file in a folder is on the disk only when the folder is, too. Some file systems
/// cannot promise that, which is no reason to fail.
void sync_folder_of(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

File::File(std::string path, int flags)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, 0666)) {
  if (descriptor_ >= 0) return;
  const bool reading = (flags & O_ACCMODE) == O_RDONLY;
  fail(reading ? "read" : "write", path_,
       reading ? "check that the file exists and may be read on every rank"
               : "check that the folder exists and may be written on every rank");
}

File File::open(const std::string& path) { return {path, O_RDONLY}; }
File File::open_for_writing(const std::string& path) { return {path, O_WRONLY}; }
File File::create(const std::string& path) { return {path, O_WRONLY | O_CREAT | O_TRUNC}; }

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

index_t File::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail("read the size of", path_, "check the file system");
  return status.st_size;
}

void File::resize(index_t bytes) const {
  if (::ftruncate(descriptor_, bytes) != 0)
    fail("make room in", path_, "check that the disk has room for it");
}

void File::read(void* to, index_t bytes, index_t offset) const {
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(bytes, most_at_once));
    const ssize_t got = ::pread(descriptor_, next, wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", path_, "check that it is a file, and its disk");
    if (got == 0) {
      throw Error(fmt::format(
          "'{}' ends after {} bytes, where {} more should be: it is not complete; copy or make it "
          "anew",
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
    const ssize_t put = ::pwrite(descriptor_, next, wanted, offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", path_, "check that the disk has room for it");
    next += put;
    offset += put;
    bytes -= put;
  }
}

void File::sync() const {
  if (::fsync(descriptor_) != 0) fail("write", path_, "check that the disk has room for it");
}

std::string partial_path(const std::string& target) { return target + ".partial"; }

PartialFile::PartialFile(const std::string& target)
    : target_(target), path_(partial_path(target)) {}

PartialFile::~PartialFile() {
  if (!replaced_) ::unlink(path_.c_str());
}

void PartialFile::replace_target() {
  if (std::rename(path_.c_str(), target_.c_str()) != 0)
    fail("write", target_, "check that no folder has this name");
  replaced_ = true;
  sync_folder_of(target_);
}

void replace_file(const std::string& path, std::string_view bytes) {
  PartialFile partial(path);
  const File file = File::create(partial.path());
  file.write(bytes.data(), static_cast<index_t>(bytes.size()), 0);
  file.sync();
  partial.replace_target();
}

}  // namespace weft::detail
