#include "output_file.hpp"

#include <fmt/core.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace weft::app {
namespace {

std::string system_error_text(const std::string& path) {
  return fmt::format("cannot write '{}': {}", path, std::generic_category().message(errno));
}

/// Why this process cannot write the file; empty if it can.
std::string write_error(const std::string& path, Target target) {
  std::error_code failure;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return system_error_text(path);
    // A link is followed even if its target does not exist.
    const int exclusive = std::filesystem::is_symlink(path, failure) ? 0 : O_EXCL;
    const int created = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | exclusive, 0666);
    if (created < 0) return system_error_text(path);
    ::close(created);
    std::filesystem::remove(std::filesystem::canonical(path, failure), failure);
    return {};
  }
  if (S_ISDIR(status.st_mode)) return fmt::format("cannot write '{}': it is a folder", path);
  if (target == Target::regular_file) {
    if (!S_ISREG(status.st_mode)) return fmt::format("cannot write '{}': not a regular file", path);
    // The new file is created in the same folder and renamed.
    const std::string folder = std::filesystem::canonical(path, failure).parent_path().string();
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return system_error_text(path);
  }
  return ::access(path.c_str(), W_OK) == 0 ? "" : system_error_text(path);
}

}  // namespace

void require_writable(const Comm& world, const std::string& path, Target target) {
  world.agree(world.rank() == 0 ? write_error(path, target) : "");
}

void write_file(const Comm& world, const std::string& path, const std::string& text) {
  std::string failure;
  if (world.rank() == 0) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    const bool written =
        file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file == nullptr || std::fclose(file) != 0 || !written) failure = system_error_text(path);
  }
  world.agree(failure);
}

}  // namespace weft::app
