#include "comm/nccl_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/nccl_library.hpp"

#include <array>
#include <exception>
#include <string>

namespace weft::detail {

void NcclTransport::fork() {
  forked_.record(Stream::current(device_));
  side_stream_.wait(forked_);
}

Ticket NcclTransport::join() {
  event(++joined_).record(side_stream_);
  return {.kind = issued, .peer = 0, .id = joined_};
}

bool NcclTransport::test(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) return self_->test(ticket);
  comm_->check({});
  return ticket.id == 0 || event(ticket.id).passed();
}

void NcclTransport::wait(const Ticket& ticket) {
  flush();
  if (ticket.kind == to_self) {
    self_->wait(ticket);
  } else if (ticket.id != 0) {
    Stream::current(device_).wait(event(ticket.id));
  }
}

void NcclTransport::abandon(const Ticket& ticket) noexcept {
  try {
    wait(ticket);  // makes the stream wait before the memory is released
  } catch (const std::exception&) {
    // The communicator is broken: nothing is in progress.
  }
}

// Messages are collected until one is waited for: a send alone would block the stream before the
// receive behind it.

Ticket NcclTransport::send(ConstBufferRef data, int to) {
  if (to == rank()) {
    Ticket ticket = self_->send(data, 0);
    ticket.kind = to_self;
    return ticket;
  }
  if (data.count > 0) collected_.push_back({data, {}, to});
  return {.kind = issued, .peer = to, .id = joined_ + 1};
}

Ticket NcclTransport::recv(BufferRef data, int from) {
  if (from == rank()) {
    Ticket ticket = self_->recv(data, 0);
    ticket.kind = to_self;
    return ticket;
  }
  if (data.count > 0) collected_.push_back({{}, data, from});
  return {.kind = issued, .peer = from, .id = joined_ + 1};
}

void NcclTransport::flush() {
  if (collected_.empty()) return;
  fork();
  const auto issue = [&](ncclComm_t comm, cudaStream_t stream) {
    NcclCodes codes;
    codes << ncclGroupStart();
    for (const Message& each : collected_) {
      if (each.out.count > 0) {
        codes << ncclSend(each.out.data, pieces(each.out), type_of(each.out.dtype), each.peer, comm,
                          stream);
      } else {
        codes << ncclRecv(each.in.data, pieces(each.in), type_of(each.in.dtype), each.peer, comm,
                          stream);
      }
    }
    codes << ncclGroupEnd();
    return codes.first();
  };
  try {
    call("messages", side_stream_, issue);
  } catch (...) {
    collected_.clear();  // the caller may release the memory
    throw;
  }
  collected_.clear();
  join();
}

std::shared_ptr<Transport> NcclTransport::split(int color, int key) {
  flush();
  ncclComm_t part = nullptr;
  comm_->call("ncclCommSplit", [&](ncclComm_t comm) {
    return ncclCommSplit(comm, color < 0 ? NCCL_SPLIT_NOCOLOR : color, key, &part, nullptr);
  });
  if (part == nullptr) return nullptr;
  auto watched = std::make_unique<NcclComm>(part, *comm_);
  int rank = 0;
  int size = 0;
  watched->call("ncclCommUserRank", [&](ncclComm_t comm) { return ncclCommUserRank(comm, &rank); });
  watched->call("ncclCommCount", [&](ncclComm_t comm) { return ncclCommCount(comm, &size); });
  return std::make_shared<NcclTransport>(std::move(watched), rank, size, device_);
}

namespace {

/// Throws the same error on all ranks if one of them passes an error.
void agree_on_nccl(Transport& host, const std::string& error) {
  std::int32_t failed = error.empty() ? host.size() : host.rank();
  host.allreduce(ConstBufferRef(&failed, 1), BufferRef(&failed, 1), ReduceOp::min,
                 CallMode::blocking);
  if (failed == host.size()) return;
  std::array<char, 512> text = {};
  error.copy(text.data(), text.size() - 1);
  host.broadcast({text.data(), static_cast<index_t>(text.size()), DType::u8, Device::cpu()}, failed,
                 CallMode::blocking);
  throw AgreedError(fmt::format("NCCL cannot be used: rank {}: {}", failed, text.data()));
}

}  // namespace

int nccl_version() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess ? version : 0;
}

std::shared_ptr<Transport> make_nccl_transport(const std::shared_ptr<Transport>& host,
                                               Device device) {
  std::string error;
  ncclUniqueId id = {};
  if (host->rank() == 0) {
    const ncclResult_t code = ncclGetUniqueId(&id);
    if (code != ncclSuccess) error = fmt::format("ncclGetUniqueId: {}", ncclGetErrorString(code));
  }
  agree_on_nccl(*host, error);
  host->broadcast({id.internal, sizeof(id.internal), DType::u8, Device::cpu()}, 0,
                  CallMode::blocking);
  std::unique_ptr<NcclComm> comm;
  try {
    comm = std::make_unique<NcclComm>(id, host, device);
  } catch (const TimeoutError&) {
    throw;  // a rank that is missing in NCCL would be missing here, too
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  agree_on_nccl(*host, error);
  return std::make_shared<NcclTransport>(std::move(comm), host->rank(), host->size(), device);
}

}  // namespace weft::detail
