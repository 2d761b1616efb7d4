#pragma once

#include <weft/core/stream.hpp>

#include "comm/gpu_board.hpp"
#include "core/on_error.hpp"

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
  void clear() { messages_.clear(); }
  const Stream& stream() const { return stream_; }

  /// The number of the next issue.
  std::uint64_t next() const { return issued_ + 1; }
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
  launch(messages_);
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
  void clear() {
    sends.clear();
    recvs.clear();
  }
  void issue(GpuBoard& board, const Stream& caller) {
    const OnError guard([this] { clear(); });  // the caller may release the memory
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
