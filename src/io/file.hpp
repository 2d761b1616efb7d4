#pragma once

#include <weft/core/shape.hpp>

#include <string>

namespace weft::detail {

/// An open regular file. Folders, FIFOs, sockets and devices are refused, without waiting for a
/// peer of a FIFO. Errors name the path and the reason that the system gives.
class File {
 public:
  static File open(const std::string& path);
  /// An existing file that is not a symbolic link.
  static File open_for_writing(const std::string& path);
  /// A new file; an error if anything has this name.
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

/// The end of a path: the file itself if it is a symbolic link, or a chain of them.
struct ResolvedPath {
  std::string path;
  bool exists = false;
};
/// Throws if something else than a regular file is there, and if it cannot be found out what is:
/// only ENOENT means that there is nothing.
ResolvedPath resolve_path(const std::string& path);

/// Throws an Error for a failed call of the system, with what errno says:
/// "cannot <what> '<path>': <reason>; <advice>".
[[noreturn]] void fail_call(const char* what, const std::string& path, const char* advice);

}  // namespace weft::detail
