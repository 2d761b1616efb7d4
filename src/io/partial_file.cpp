#include "io/partial_file.hpp"

#include <weft/core/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>

namespace weft::detail {
namespace {

constexpr std::string_view infix = ".partial-";
constexpr std::size_t digits = 16;

/// The beginning of the target's name, so that the name does not exceed the limit of the file
/// system.
std::string_view stem_of(std::string_view target) {
  return target.substr(0, NAME_MAX - infix.size() - digits);
}

/// Random, so that two programs do not use the same name and nobody can place a link there.
std::string partial_path(const std::string& target) {
  std::uint64_t random = 0;
  if (::getentropy(&random, sizeof(random)) != 0)
    fail_call("choose a temporary name for", target, "check the random numbers of the system");
  const auto [folder, name] = split_path(target);
  return fmt::format("{}{}{}{:016x}", folder, stem_of(name), infix, random);
}

/// A rename is on the disk only when the folder is synced. If a file system cannot do that, a crash
/// of the machine may restore the old file, which is complete.
void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

SplitPath split_path(const std::string& path) {
  const std::size_t end = path.rfind('/') + 1;  // 0 if there is none
  return {path.substr(0, end), path.substr(end)};
}

bool is_partial_name(std::string_view name, std::string_view target) {
  const std::string begin = std::string(stem_of(target)) + std::string(infix);
  return name.size() == begin.size() + digits && name.starts_with(begin) &&
         std::all_of(name.end() - digits, name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

PartialFile::PartialFile(const std::string& target)
    : target_(resolve_path(target).path), path_(partial_path(target_)) {}

PartialFile::~PartialFile() {
  if (exists_) ::unlink(path_.c_str());
}

File PartialFile::create() {
  File file = File::create(path_);
  exists_ = true;
  return file;
}

void PartialFile::replace_target() {
  if (std::rename(path_.c_str(), target_.c_str()) != 0)
    fail_call("write", target_, "check that no folder has this name");
  exists_ = false;
  sync_folder(split_path(target_).folder);
}

}  // namespace weft::detail
