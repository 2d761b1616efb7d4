#pragma once

#include <string>

namespace weft::detail {

/// The right to replace a file: as long as one process has it, others get an error. Held by a lock
/// of the system on `path`.lock, which ends with the process however it ends; the file itself
/// tells others who has it, and the next owner what a killed one has left.
class FileLock {
 public:
  /// Throws, with the owner's name, if somebody else has it. Removes the temporary file that an
  /// owner has left who was killed. Where the file system has no locks, nothing is locked.
  explicit FileLock(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  /// The file, without symbolic links at the end of its path.
  const std::string& target() const { return target_; }
  /// The temporary file that is to be removed if this process is killed.
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
