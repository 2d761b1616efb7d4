#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace weft::detail {

/// The address of a rank for messages outside MPI.
struct ControlAddress {
  /// Identifies datagrams of this job; the key of rank 0 is used.
  std::uint64_t key = 0;
  std::uint64_t host = 0;
  /// In network byte order, like the port; 0 if unused.
  std::array<std::uint32_t, 4> interfaces = {};
  std::uint32_t port = 0;
  std::uint32_t unused = 0;
};

/// The state of a rank in launch.
enum class Phase : std::uint32_t { outside, running, left, failed };

enum class ControlKind : std::uint32_t {
  /// Asks for the progress of a rank on communicator `comm`.
  query,
  reply,
  /// Claims the right to report why the job ends.
  claim,
};

struct ControlMessage {
  std::uint64_t key = 0;
  ControlKind kind = ControlKind::query;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint32_t unused = 0;
  /// The queried communicator and the rank in it; communicator 0 queries the process itself.
  std::uint64_t comm = 0;
  std::int32_t member = 0;
  Phase phase = Phase::outside;
  /// Number of collective calls that the rank has begun on the communicator.
  std::uint64_t begun = 0;
  /// The call that the rank waits in; empty if it does not wait.
  std::array<char, 24> call = {};
};

// Sent as bytes, so they must not contain padding.
static_assert(std::has_unique_object_representations_v<ControlAddress>);
static_assert(std::has_unique_object_representations_v<ControlMessage>);

/// Exchanges short messages between the ranks of a job while MPI blocks. They are datagrams, which
/// may get lost. Sending never blocks, whether or not the other rank still runs.
class ControlSocket {
 public:
  /// `one_host` binds the socket to the loopback interface. Throws std::system_error.
  explicit ControlSocket(bool one_host);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// Throws std::runtime_error if there is no source of random numbers.
  ControlAddress address() const;
  /// Sets the addresses of all ranks; call it before send.
  void connect(int rank, std::vector<ControlAddress> ranks);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  bool is_on_this_host(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].host ==
           ranks_[static_cast<std::size_t>(rank_)].host;
  }
  void send(int to, ControlMessage message) const noexcept;
  /// Returns false if no message of this job arrives in time.
  bool receive(ControlMessage& message, std::chrono::milliseconds time) const noexcept;

 private:
  int socket_;
  int rank_ = 0;
  std::vector<ControlAddress> ranks_;
};

}  // namespace weft::detail
