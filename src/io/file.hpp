#pragma once

#include <weft/core/shape.hpp>

#include <string>

namespace weft::detail {

/// An open regular file. Folders, FIFOs, sockets and devices are refused without blocking. Errors
/// contain the path and the reason given by the system.
class File {
 public:
  static File open(const std::string& path);
  /// Opens an existing file that is not a symbolic link.
  static File open_for_writing(const std::string& path);
  /// Creates a file; an error if the name exists.
  static File create(const std::string& path);

  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::string& path() const { return path_; }
  index_t size() const;
  void resize(index_t bytes) const;
  /// Transfers all bytes at an offset; may run concurrently with other transfers.
  void read(void* to, index_t bytes, index_t offset) const;
  void write(const void* from, index_t bytes, index_t offset) const;
  /// Returns when all written data are on the disk.
  void sync() const;

 private:
  File(std::string path, int flags);

  std::string path_;
  int descriptor_;
};

/// The path after following symbolic links.
struct ResolvedPath {
  std::string path;
  bool exists = false;
};
/// Throws if the path exists and is not a regular file, or if its status cannot be read: only
/// ENOENT means that it does not exist.
ResolvedPath resolve_path(const std::string& path);

/// Throws an Error for a failed system call, with the text of errno:
/// "cannot <what> '<path>': <reason>; <advice>".
[[noreturn]] void fail_call(const char* what, const std::string& path, const char* advice);

}  // namespace weft::detail
