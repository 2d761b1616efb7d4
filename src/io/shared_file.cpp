#include "io/shared_file.hpp"

#include <cstdint>
#include <vector>

namespace weft::detail {

std::string text_of_rank_0(const Comm& comm, std::string text) {
  auto length = static_cast<index_t>(text.size());
  comm.broadcast(BufferRef(&length, 1), 0);
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  bytes.resize(static_cast<std::size_t>(length));
  comm.broadcast(bytes, 0);
  return {bytes.begin(), bytes.end()};
}

SharedFile::SharedFile(const Comm& comm, const std::string& target, index_t bytes,
                       const Announce& announce)
    : comm_(comm) {
  together(comm_, [&] {
    if (comm_.rank() != 0) return;
    partial_.emplace(target);
    if (announce) announce(partial_->path());
    partial_->create().resize(bytes);
  });
  path_ = text_of_rank_0(comm_, partial_ ? partial_->path() : std::string());
}

void SharedFile::replace_target() {
  together(comm_, [&] {
    if (partial_) partial_->replace_target();
  });
}

}  // namespace weft::detail
