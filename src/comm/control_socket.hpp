#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace weft::detail {

/// How a rank is reached beside MPI.
struct ControlAddress {
  /// Drops datagrams that are not of this job. That of rank 0 counts.
  std::uint64_t key = 0;
  std::uint64_t host = 0;
  /// In network byte order, as the port; 0 where there is none.
  std::array<std::uint32_t, 4> interfaces = {};
  std::uint32_t port = 0;
  std::uint32_t unused = 0;
};

/// How far a rank has come in launch.
enum class Phase : std::uint32_t { outside, running, left, failed };

enum class ControlKind : std::uint32_t {
  /// "How far are you on communicator `comm`?"
  ask,
  tell,
  /// "I end the job and say why."
  claim,
};

struct ControlMessage {
  std::uint64_t key = 0;
  ControlKind kind = ControlKind::ask;
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint32_t unused = 0;
  /// The communicator asked about, and the asked rank in it; 0 asks about the rank itself.
  std::uint64_t comm = 0;
  std::int32_t member = 0;
  Phase phase = Phase::outside;
  /// Collective calls that the rank has begun on the communicator.
  std::uint64_t begun = 0;
  /// What the rank waits in; empty if it does not wait.
  std::array<char, 24> call = {};
};

// They are sent as they are: without padding, which would be whatever was in memory.
static_assert(std::has_unique_object_representations_v<ControlAddress>);
static_assert(std::has_unique_object_representations_v<ControlMessage>);

/// Carries short messages between the ranks of a job while MPI blocks: datagrams, which may get
/// lost. Sending never waits, so that it does not matter whether the other rank still runs.
class ControlSocket {
 public:
  /// `one_host` keeps the socket invisible from outside of this machine. Throws std::system_error.
  explicit ControlSocket(bool one_host);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// Throws std::runtime_error where there is no source of random numbers.
  ControlAddress address() const;
  /// Before anything is sent: the addresses of all ranks.
  void connect(int rank, std::vector<ControlAddress> ranks);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  bool is_on_this_host(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].host ==
           ranks_[static_cast<std::size_t>(rank_)].host;
  }
  void send(int to, ControlMessage message) const noexcept;
  /// False if no message of this job arrives in time.
  bool receive(ControlMessage& message, std::chrono::milliseconds time) const noexcept;

 private:
  int socket_;
  int rank_ = 0;
  std::vector<ControlAddress> ranks_;
};

}  // namespace weft::detail
