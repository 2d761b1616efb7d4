#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include "comm/collective_checks.hpp"
#include "comm/device_route.hpp"
#include "comm/issue_call.hpp"
#include "comm/self_transport.hpp"
#include "core/environment.hpp"

#include <string>
#include <utility>

namespace weft {

using detail::CommState;

std::string to_string(const Route& route) {
  return fmt::format("{} ({})", route.name, route.reason);
}

Comm detail::make_comm(std::shared_ptr<Transport> transport) {
  auto state = std::make_shared<CommState>();
  state->transport = std::move(transport);
  state->checking = settings().check;
  state->timing = settings().profile;
  use_self_route_if_single(*state);
  return CommAccess::make(std::move(state), Device::cpu());
}

void detail::flush(CommState& state) {
  state.transport->flush();
  if (state.gpu_transport != nullptr) state.gpu_transport->flush();
}

Comm Comm::self() { return detail::make_comm(detail::make_self_transport()); }

Comm::Comm(std::shared_ptr<CommState> state, Device device)
    : state_(std::move(state)), device_(device) {}

const std::shared_ptr<CommState>& Comm::state() const {
  require(valid(), "this communicator is not valid: this rank passed a negative color to split");
  return state_;
}

int Comm::rank() const { return state()->transport->rank(); }
int Comm::size() const { return state()->transport->size(); }
std::string_view Comm::transport() const { return state()->transport->name(); }
Device Comm::device() const { return device_; }

Route Comm::route(Device device) const {
  if (device.kind == DeviceKind::cuda) return state()->route;
  const std::string name(transport());
  if (state()->transport->accepts(device)) return {name, "the transport accepts it"};
  return {"staged", "the transport accepts host memory only"};
}

Comm Comm::on(Device device) const {
  require_available(device);
  if (device.kind == DeviceKind::cuda && size() > 1) {
    detail::throw_if_held(*state());
    detail::flush(*state());
    std::int32_t changes = state()->gpu != device ? 1 : 0;
    state()->transport->allreduce(ConstBufferRef(&changes, 1), BufferRef(&changes, 1),
                                  ReduceOp::max, detail::CallMode::blocking);
    if (changes != 0) detail::choose_gpu_transport(*state(), device);
  }
  return {state_, device};
}

bool operator==(const Comm& a, const Comm& b) {
  if (a.state_ == b.state_) return true;
  return a.valid() && b.valid() && a.transport() == "self" && b.transport() == "self";
}

Comm Comm::split(int color, int key) const {
  using detail::any;
  CommState& whole = *state();
  detail::throw_if_held(whole);
  detail::verify_if_checking(whole, {detail::split_code, any, any, any, any, any});
  detail::flush_gpu(whole, nullptr);
  auto part = std::make_shared<CommState>();
  part->transport = whole.transport->split(color, key);
  detail::split_gpu_transport(whole, *part, color);
  if (part->transport == nullptr) return {std::shared_ptr<CommState>(), device_};
  part->held = whole.held;
  part->checking = whole.checking;
  part->timing = whole.timing;
  detail::use_self_route_if_single(*part);
  return {std::move(part), device_};
}

Comm Comm::dup() const { return split(0, rank()); }

void Comm::abort(const std::string& reason) const noexcept {
  if (!valid()) return;
  if (state_->gpu_transport != nullptr) state_->gpu_transport->abort(reason);
  state_->transport->abort(reason);
}

void Comm::throw_held_error() const { state()->held->throw_if_unreported(*state()->transport); }

const Stats& Comm::stats() const { return state()->stats; }
void Comm::reset_stats() const { state()->stats = {}; }
bool Comm::checks_calls() const { return state()->checking; }
void Comm::check_calls(bool on) const { state()->checking = on; }
void Comm::time_calls(bool on) const { state()->timing = on; }

}  // namespace weft
