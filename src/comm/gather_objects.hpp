#pragma once

#include "comm/transport.hpp"

#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace weft::detail {

/// Gathers one object of each rank on all ranks, nonblocking. Collective.
template <class T>
class ObjectGather {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  ObjectGather(Transport& transport, const T& mine)
      : transport_(transport), mine_(mine), all_(static_cast<std::size_t>(transport.size())) {
    parts_.make_even(transport.size(), sizeof(T));
    ticket_ = transport.all_gather(
        ConstBufferRef(reinterpret_cast<const std::uint8_t*>(&mine_), sizeof(T)),
        BufferRef(reinterpret_cast<std::uint8_t*>(all_.data()), parts_.extent()), parts_,
        CallMode::nonblocking);
  }
  ObjectGather(const ObjectGather&) = delete;
  ObjectGather& operator=(const ObjectGather&) = delete;

  /// Returns false if not all ranks take part before `deadline`.
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    while (!transport_.test(ticket_)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }
  /// By rank.
  const std::vector<T>& wait() {
    transport_.wait(ticket_);
    return all_;
  }

 private:
  Transport& transport_;
  T mine_;
  std::vector<T> all_;
  Parts parts_;
  Ticket ticket_;
};

/// Gathers one object of each rank, ordered by rank. Collective.
template <class T>
std::vector<T> gather_objects(Transport& transport, const T& mine) {
  ObjectGather<T> gathering(transport, mine);
  return gathering.wait();
}

}  // namespace weft::detail
