#pragma once

// Files that ranks read and write together.

#include <weft/comm/comm.hpp>

#include "io/partial_file.hpp"

#include <exception>
#include <functional>
#include <optional>
#include <string>

namespace weft::detail {

/// A rank's share of a common job: what it throws on one rank, all ranks throw.
template <class F>
void together(const Comm& comm, F&& share) {
  std::string complaint;
  try {
    share();
  } catch (const std::exception& error) {
    complaint = error.what();
  }
  comm.agree(complaint);
}

/// The text that rank 0 has. Collective.
std::string text_of_rank_0(const Comm& comm, std::string text);

/// A PartialFile that rank 0 makes and all ranks write to. All calls are collective; if any rank
/// fails, all throw the same AgreedError, and rank 0 removes the file.
class SharedFile {
 public:
  using Announce = std::function<void(const std::string& partial_path)>;

  /// A file of so many bytes. Rank 0 calls `announce` before the file exists.
  SharedFile(const Comm& comm, const std::string& target, index_t bytes,
             const Announce& announce = {});

  /// The same on all ranks. Not collective.
  const std::string& path() const { return path_; }
  /// To be called when all that was written is on the disk.
  void replace_target();

 private:
  const Comm& comm_;
  std::optional<PartialFile> partial_;  // on rank 0
  std::string path_;
};

}  // namespace weft::detail
