#pragma once

#include <weft/core/stream.hpp>

#include "comm/gpu_board.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace weft::detail {

/// Messages in one direction that are issued together, and run on a stream of their own.
class GpuLane {
 public:
  explicit GpuLane(Device device) : stream_(Stream::make(device)) {}

  void add(GpuBoard::Message message) {
    if (message.bytes > 0) messages_.push_back(message);
  }
  bool is_empty() const { return messages_.empty(); }
  const Stream& stream() const { return stream_; }

  /// The numbers of the next and of the last issue.
  std::uint64_t next() const { return issued_ + 1; }
  std::uint64_t last() const { return issued_; }
  /// Calls launch(messages) for those added, after the work on `caller`.
  template <class Launch>
  void issue(const Stream& caller, Launch launch);
  /// The end of one of the latest issues.
  const Event& end(std::uint64_t number) const { return ends_[number % ends_.size()]; }

 private:
  Stream stream_;
  std::vector<GpuBoard::Message> messages_;
  Event begin_;
  std::uint64_t issued_ = 0;
  std::array<Event, 64> ends_;
};

template <class Launch>
void GpuLane::issue(const Stream& caller, Launch launch) {
  if (is_empty()) return;
  begin_.record(caller);
  stream_.wait(begin_);
  try {
    launch(messages_);
  } catch (...) {
    messages_.clear();  // the caller may release the memory
    throw;
  }
  messages_.clear();
  ends_[++issued_ % ends_.size()].record(stream_);
}

/// Messages that match each other, apart from those of other channels.
struct GpuChannel {
  GpuChannel(GpuBoard::Channel of, Device device) : kind(of), sends(device), recvs(device) {}

  bool is_empty() const { return sends.is_empty() && recvs.is_empty(); }
  void send(ConstBufferRef data, int to) {
    sends.add({const_cast<void*>(data.data), data.bytes(), to});
  }
  void recv(BufferRef data, int from) { recvs.add({data.data, data.bytes(), from}); }
  void issue(GpuBoard& board, const Stream& caller) {
    sends.issue(caller, [&](const auto& messages) {
      board.send(kind, messages, caller.handle(), sends.stream().handle());
    });
    recvs.issue(caller, [&](const auto& messages) {
      board.receive(kind, messages, recvs.stream().handle());
    });
  }

  GpuBoard::Channel kind;
  GpuLane sends;
  GpuLane recvs;
};

}  // namespace weft::detail
