#include <weft/comm/registered_memory.hpp>

#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>
#include <weft/core/format.hpp>
#include <weft/core/stream.hpp>

#include "comm/comm_state.hpp"
#include "comm/issue_call.hpp"
#include "comm/memory_registration.hpp"

#include <cstdint>
#include <exception>
#include <utility>

namespace weft {
namespace detail {

std::unique_ptr<MemoryRegistration> Transport::register_memory(BufferRef) { return nullptr; }
std::unique_ptr<MemoryRegistration> Transport::allocate_registered(index_t) { return nullptr; }

namespace {

/// Ranks with memory of different kinds, or with and without a size, would make different calls.
void agree_on_call(const Comm& comm, Device where, bool allocates, const std::string& error) {
  const auto kind = static_cast<std::uint64_t>(where.kind) << 1 | (allocates ? 1U : 0U);
  comm.agree(error);
  comm.agree_on(kind, [&] {
    return fmt::format("registered memory, {} on {}", allocates ? "allocated" : "passed", where);
  });
}

std::string obstacle_of_route(const Comm& comm, Device where) {
  if (comm.transport() == "thread") return "the ranks are threads and access all memory anyway";
  return fmt::format("the route of memory on {} is '{}'", where, comm.route(where).name);
}

}  // namespace
}  // namespace detail

struct RegisteredMemory::State {
  std::shared_ptr<detail::CommState> comm;
  BufferRef memory;
  std::string obstacle;
  std::unique_ptr<detail::MemoryRegistration> registration;  // null if the transport has no use
  Buffer<std::byte> owned;                                   // if it was to be allocated
  int exceptions = std::uncaught_exceptions();

  /// Memory on a GPU that this rank communicates from; null for other memory.
  detail::Transport* transport() const {
    if (memory.where.kind != DeviceKind::cuda || comm->size() == 1) return nullptr;
    return detail::transport_for(*comm, memory.where, "RegisteredMemory");
  }
  void finish(const Comm& of) {
    if (registration != nullptr) {
      obstacle = registration->obstacle();
    } else {
      obstacle = detail::obstacle_of_route(of, memory.where);
    }
  }
  ~State() {
    if (registration == nullptr) return;
    if (std::uncaught_exceptions() > exceptions) {
      registration->abandon();
      return;
    }
    try {
      detail::flush(*comm);
      registration->end();
    } catch (...) {
      registration->abandon();
      comm->held->hold(std::current_exception());
    }
  }
};

RegisteredMemory::RegisteredMemory(std::unique_ptr<State> state) : state_(std::move(state)) {}
RegisteredMemory::RegisteredMemory() noexcept = default;
RegisteredMemory::RegisteredMemory(RegisteredMemory&& other) noexcept = default;
RegisteredMemory& RegisteredMemory::operator=(RegisteredMemory&& other) noexcept = default;
RegisteredMemory::~RegisteredMemory() = default;

RegisteredMemory::RegisteredMemory(const Comm& comm, BufferRef memory)
    : state_(std::make_unique<State>()) {
  state_->comm = detail::CommAccess::state(comm);
  state_->memory = memory;
  const bool valid = memory.count >= 0 && (memory.data != nullptr || memory.count == 0);
  std::string error;
  if (!valid) {
    error = fmt::format(
        "RegisteredMemory: the address must not be null and the size not negative, got {} elements "
        "at address {:#x}",
        memory.count, reinterpret_cast<std::uintptr_t>(memory.data));
  }
  try {
    state_->transport();
  } catch (const Error& wrong_device) {
    if (valid) error = wrong_device.what();
  }
  detail::agree_on_call(comm, memory.where, false, error);
  if (detail::Transport* const transport = state_->transport()) {
    const detail::Transport::CallScope scope(*state_->comm->transport, "RegisteredMemory");
    detail::flush(*state_->comm);
    state_->registration = transport->register_memory(memory);
  }
  state_->finish(comm);
}

RegisteredMemory RegisteredMemory::allocate(const Comm& comm, index_t bytes) {
  auto state = std::make_unique<State>();
  state->comm = detail::CommAccess::state(comm);
  state->memory = BufferRef(nullptr, bytes, DType::u8, comm.device());
  detail::agree_on_call(
      comm, comm.device(), true,
      bytes > 0 ? std::string()
                : fmt::format("RegisteredMemory::allocate: bytes must be positive, got {}", bytes));
  if (detail::Transport* const transport = state->transport()) {
    const detail::Transport::CallScope scope(*state->comm->transport, "RegisteredMemory");
    detail::flush(*state->comm);
    state->registration = transport->allocate_registered(bytes);
  }
  if (state->registration != nullptr) {
    state->memory.data = state->registration->data();
  } else {
    state->owned = Buffer<std::byte>(bytes, comm.device());
    state->memory.data = state->owned.data();
  }
  state->finish(comm);
  return RegisteredMemory(std::move(state));
}

bool RegisteredMemory::is_direct() const { return state_ != nullptr && state_->obstacle.empty(); }

const std::string& RegisteredMemory::obstacle() const {
  static const std::string none = "there is no memory";
  return state_ == nullptr ? none : state_->obstacle;
}

BufferRef RegisteredMemory::memory() const {
  return state_ == nullptr ? BufferRef() : state_->memory;
}

}  // namespace weft
