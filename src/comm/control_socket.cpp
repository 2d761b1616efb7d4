#include "comm/control_socket.hpp"

#include "comm/launch_checks.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

namespace weft::detail {
namespace {

sockaddr_in internet_address(std::uint32_t interface, std::uint32_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = interface;
  address.sin_port = static_cast<in_port_t>(port);
  return address;
}

/// The socket functions take addresses as this type.
sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

[[noreturn]] void throw_errno(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

/// Addresses of this host for other hosts.
std::array<std::uint32_t, 4> interfaces() {
  std::array<std::uint32_t, 4> found = {};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  std::size_t count = 0;
  for (const ifaddrs* each = all; each != nullptr && count < found.size(); each = each->ifa_next) {
    const unsigned wanted = IFF_UP | IFF_RUNNING;
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & (wanted | IFF_LOOPBACK)) != wanted) continue;
    found.at(count++) = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr;
  }
  freeifaddrs(all);
  return found;
}

}  // namespace

ControlSocket::ControlSocket(bool one_host)
    : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (socket_ < 0) throw_errno("socket");
  sockaddr_in address = internet_address(htonl(one_host ? INADDR_LOOPBACK : INADDR_ANY), 0);
  if (bind(socket_, generic(address), sizeof(address)) != 0) {
    const int code = errno;
    close(socket_);
    throw std::system_error(code, std::generic_category(), "bind");
  }
}

ControlSocket::~ControlSocket() { close(socket_); }

ControlAddress ControlSocket::address() const {
  sockaddr_in mine = {};
  socklen_t length = sizeof(mine);
  if (getsockname(socket_, generic(mine), &length) != 0) throw_errno("getsockname");
  std::random_device random;
  ControlAddress address;
  address.key = std::uint64_t{random()} << 32 | random();
  address.host = host_id();
  address.interfaces = interfaces();
  address.port = mine.sin_port;
  return address;
}

void ControlSocket::connect(int rank, std::vector<ControlAddress> ranks) {
  rank_ = rank;
  ranks_ = std::move(ranks);
}

void ControlSocket::send(int to, ControlMessage message) const noexcept {
  message.key = ranks_[0].key;
  message.from = rank_;
  message.to = to;
  const ControlAddress& peer = ranks_[static_cast<std::size_t>(to)];
  const auto send_to = [&](std::uint32_t interface) {
    sockaddr_in address = internet_address(interface, peer.port);
    sendto(socket_, &message, sizeof(message), MSG_NOSIGNAL, generic(address), sizeof(address));
  };
  if (is_on_this_host(to)) {
    send_to(htonl(INADDR_LOOPBACK));
    return;
  }
  for (const std::uint32_t interface : peer.interfaces) {
    if (interface != 0) send_to(interface);
  }
}

bool ControlSocket::receive(ControlMessage& message,
                            std::chrono::milliseconds time) const noexcept {
  pollfd waiting = {.fd = socket_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(time.count())) <= 0) return false;
  const ssize_t length = recv(socket_, &message, sizeof(message), 0);
  // Hosts may use the same private addresses, so datagrams can reach the wrong rank.
  return length == static_cast<ssize_t>(sizeof(message)) && message.key == ranks_[0].key &&
         message.to == rank_ && message.from >= 0 && message.from < size();
}

}  // namespace weft::detail
