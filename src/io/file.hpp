#pragma once

#include <weft/core/shape.hpp>

#include <string>
#include <string_view>

namespace weft::detail {

/// An open file. Errors name the path and what the system had to say.
class File {
 public:
  static File open(const std::string& path);
  static File open_for_writing(const std::string& path);
  /// A new file; one that is there is emptied.
  static File create(const std::string& path);

  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::string& path() const { return path_; }
  index_t size() const;
  void resize(index_t bytes) const;
  /// All bytes, at their place in the file, whoever else reads and writes there.
  void read(void* to, index_t bytes, index_t offset) const;
  void write(const void* from, index_t bytes, index_t offset) const;
  /// Returns when what was written is on the disk.
  void sync() const;

 private:
  File(std::string path, int flags);

  std::string path_;
  int descriptor_;
};

/// The name under which a file is written until it is complete. Unless it takes the place of
/// `target` in the end, nothing remains of it, and what was there before is as it was.
class PartialFile {
 public:
  explicit PartialFile(const std::string& target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  const std::string& path() const { return path_; }
  void replace_target();

 private:
  std::string target_;
  std::string path_;
  bool replaced_ = false;
};

std::string partial_path(const std::string& target);

/// Makes `bytes` the content of a file, completely or not at all.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace weft::detail
