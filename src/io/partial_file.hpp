#pragma once

#include "io/file.hpp"

#include <string>
#include <string_view>

namespace weft::detail {

/// A temporary file that replaces `target`, or the file that `target` links to, when it is
/// complete. If replace_target() is not called, the destructor removes it and the target is
/// unchanged.
class PartialFile {
 public:
  /// Chooses a random name in the folder of the target; creates nothing yet. Throws if the target
  /// exists and is not a regular file.
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

/// Whether PartialFile could have chosen `name` for this target; both without their folders.
bool is_partial_name(std::string_view name, std::string_view target);

/// A path split after its last '/'.
struct SplitPath {
  std::string folder;
  std::string name;
};
SplitPath split_path(const std::string& path);

}  // namespace weft::detail
