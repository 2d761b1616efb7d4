#pragma once

#include "io/file.hpp"

#include <string>
#include <string_view>

namespace weft::detail {

/// The file under another name that is written until it is complete and then takes the place of
/// `target`, or of the file that `target` is a symbolic link to. If that does not happen, the
/// destructor removes what create() has made, and what was there before is as it was.
class PartialFile {
 public:
  /// Chooses a name beside the target that nobody can guess; makes nothing yet. Throws if the
  /// target is something else than a regular file.
  explicit PartialFile(const std::string& target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  const std::string& path() const { return path_; }
  File create();
  void replace_target();

 private:
  std::string target_;
  std::string path_;
  bool exists_ = false;
};

/// `name` is one that PartialFile could have chosen for this target, both without their folders.
bool is_partial_name(std::string_view name, std::string_view target);

/// The part of a path up to its last '/', with it, and what follows.
struct SplitPath {
  std::string folder;
  std::string name;
};
SplitPath split_path(const std::string& path);

/// Makes `bytes` the content of a file, completely or not at all.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace weft::detail
