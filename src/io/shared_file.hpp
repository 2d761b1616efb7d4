#pragma once

// Files that all ranks read and write.

#include <weft/comm/comm.hpp>

#include "io/partial_file.hpp"

#include <exception>
#include <functional>
#include <optional>
#include <string>

namespace weft::detail {

/// Runs `share` on every rank. If it throws on one rank, all ranks throw.
template <class F>
void together(const Comm& comm, F&& share) {
  std::string failure;
  try {
    share();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  comm.agree(failure);
}

/// The text of rank 0, on all ranks. Collective.
std::string text_of_rank_0(const Comm& comm, std::string text);

/// A PartialFile that rank 0 creates and all ranks write to. All calls are collective; if any rank
/// fails, all throw the same AgreedError, and rank 0 removes the file.
class SharedFile {
 public:
  using Announce = std::function<void(const std::string& partial_path)>;

  /// Creates a file of `bytes` bytes. Before that, rank 0 calls `announce` with its path.
  SharedFile(const Comm& comm, const std::string& target, index_t bytes,
             const Announce& announce = {});

  /// The same on all ranks. Not collective.
  const std::string& path() const { return path_; }
  /// Call when all data are on the disk.
  void replace_target();

 private:
  const Comm& comm_;
  std::optional<PartialFile> partial_;  // on rank 0
  std::string path_;
};

}  // namespace weft::detail
