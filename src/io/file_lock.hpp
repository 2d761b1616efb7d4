#pragma once

#include <string>

namespace weft::detail {

/// The exclusive right to replace a file, held by a system lock on `path`.lock, which ends with the
/// process. The lock file names the owner and the owner's temporary file.
class FileLock {
 public:
  /// Throws, with the name of the owner, if another process holds the lock. Removes the temporary
  /// file of a killed owner. Does nothing on a file system without locks.
  explicit FileLock(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  /// The path of the file after following symbolic links.
  const std::string& target() const { return target_; }
  /// Records the temporary file that the next owner removes if this process is killed.
  void note_partial(const std::string& partial_path) const;

 private:
  bool try_to_lock();
  void remove_leftover() const;
  void write_note(const std::string& partial_name) const;

  std::string target_;
  std::string path_;
  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace weft::detail
