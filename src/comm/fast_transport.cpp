#include "comm/fast_transport.hpp"

#include <weft/core/error.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/core_set.hpp"
#include "comm/gather_objects.hpp"
#include "comm/launch_checks.hpp"
#include "comm/launch_outcome.hpp"
#include "comm/node_board.hpp"
#include "core/environment.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

/// What ranks exchange before their first call. Plain numbers, since it is sent as bytes.
struct RankFacts {
  std::uint64_t host = 0;
  std::uint64_t allowed = 0;  // WEFT_FAST
  std::uint64_t table = 0;    // hash; of WEFT_TABLE and WEFT_ORDER
  std::uint64_t order = 0;    // WEFT_ORDER
  CoreSet cores = {};
};

void require_same_table(const std::vector<RankFacts>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].table == ranks[0].table) continue;
    const bool same_order = ranks[rank].order == ranks[0].order;
    throw AgreedError(fmt::format("{} differs between ranks 0 and {}; it must be the same",
                                  same_order ? "WEFT_TABLE" : "WEFT_ORDER", rank));
  }
}

class FastTransport final : public Transport {
 public:
  explicit FastTransport(std::shared_ptr<Transport> beneath)
      : Transport(beneath->rank(), beneath->size()),
        beneath_(std::move(beneath)),
        table_(allreduce_table()) {}

  std::string_view name() const override { return beneath_->name(); }
  int job_size() const override { return beneath_->job_size(); }
  bool accepts(Device device) const override { return beneath_->accepts(device); }
  bool ordered_on_stream() const override { return beneath_->ordered_on_stream(); }
  std::shared_ptr<Transport> split(int color, int key) override {
    std::shared_ptr<Transport> part = beneath_->split(color, key);
    return part == nullptr ? nullptr : make_fast_transport(std::move(part));
  }

  Ticket allreduce(ConstBufferRef in, BufferRef out, ReduceOp op, CallMode mode) override {
    if (mode == CallMode::blocking && in.where.host_accessible() && has_board()) {
      const AllreduceAlgorithm algorithm =
          choices_.choose({largest_host_, in.bytes(), in.dtype, op});
      if (algorithm != AllreduceAlgorithm::beneath) {
        allreduce_on_nodes(algorithm, in, out, op);
        return {};
      }
    }
    return beneath_->allreduce(in, out, op, mode);
  }

  Ticket barrier(CallMode mode) override { return beneath_->barrier(mode); }
  Ticket broadcast(BufferRef data, int root, CallMode mode) override {
    return beneath_->broadcast(data, root, mode);
  }
  Ticket reduce(ConstBufferRef in, BufferRef out, ReduceOp op, int root, CallMode mode) override {
    return beneath_->reduce(in, out, op, root, mode);
  }
  Ticket reduce_scatter(ConstBufferRef in, const Parts& parts, BufferRef out, ReduceOp op,
                        CallMode mode) override {
    return beneath_->reduce_scatter(in, parts, out, op, mode);
  }
  Ticket all_gather(ConstBufferRef in, BufferRef out, const Parts& parts, CallMode mode) override {
    return beneath_->all_gather(in, out, parts, mode);
  }
  Ticket gather(ConstBufferRef in, BufferRef out, const Parts& parts, int root,
                CallMode mode) override {
    return beneath_->gather(in, out, parts, root, mode);
  }
  Ticket scatter(ConstBufferRef in, const Parts& parts, BufferRef out, int root,
                 CallMode mode) override {
    return beneath_->scatter(in, parts, out, root, mode);
  }
  Ticket all_to_all(ConstBufferRef in, const Parts& sent, BufferRef out, const Parts& received,
                    CallMode mode) override {
    return beneath_->all_to_all(in, sent, out, received, mode);
  }
  bool shares_memory() const override { return beneath_->shares_memory(); }
  void read_peers(ConstBufferRef mine, PeerReader& reader) override {
    beneath_->read_peers(mine, reader);
  }
  Ticket read(BufferRef like, int from, PeerReader& reader) override {
    return beneath_->read(like, from, reader);
  }
  Ticket send(ConstBufferRef data, int to) override { return beneath_->send(data, to); }
  Ticket recv(BufferRef data, int from) override { return beneath_->recv(data, from); }
  void flush() override { beneath_->flush(); }
  bool test(const Ticket& ticket) override { return beneath_->test(ticket); }
  void wait(const Ticket& ticket) override { beneath_->wait(ticket); }
  void abandon(const Ticket& ticket) noexcept override { beneath_->abandon(ticket); }
  void progress() override { beneath_->progress(); }
  void throw_if_failed() override { beneath_->throw_if_failed(); }
  void abort(const std::string& reason) noexcept override { beneath_->abort(reason); }
  void abort_for(int rank, const std::string& reason) noexcept override {
    beneath_->abort_for(rank, reason);
  }
  Transport& innermost() override { return beneath_->innermost(); }

  std::optional<AllreduceTeam> allreduce_team() override {
    if (!has_board()) return std::nullopt;
    return AllreduceTeam{AllreducePlace::process, largest_host_};
  }
  void use_table(const std::shared_ptr<const AllreduceTable>& table) override {
    table_ = table;
    choices_ = table_->choices(AllreducePlace::process, largest_host_);
  }

 private:
  /// Makes the board in the first call, which is collective.
  bool has_board() {
    if (!opened_) [[unlikely]]
      open();
    return board_ != nullptr;
  }
  void open();
  void allreduce_on_nodes(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out,
                          ReduceOp op);

  std::shared_ptr<Transport> beneath_;
  std::shared_ptr<const AllreduceTable> table_;
  AllreduceChoices choices_;  // set with the board
  bool opened_ = false;
  /// The ranks on this host. Null if there are no two ranks on one host, or if they cannot share
  /// memory.
  std::unique_ptr<NodeBoard> board_;
  /// The number of ranks on the host that has most. All ranks know it, so they choose the same
  /// algorithm where hosts have different numbers of ranks.
  int largest_host_ = 1;
  bool one_host_ = true;
  /// The first ranks of all hosts, on these ranks only.
  std::shared_ptr<Transport> leaders_;
};

void FastTransport::open() {
  const CallScope scope(*this, to_string(CallKind::allreduce).data());
  const int pretended = settings().node_ranks;
  const RankFacts mine = {
      .host = pretended > 0 ? static_cast<std::uint64_t>(rank() / pretended) : machine_id(),
      .allowed = settings().fast ? 1U : 0U,
      .table = table_->hash(),
      .order = static_cast<std::uint64_t>(table_->order()),
      .cores = CoreSet::of_process()};
  const std::vector<RankFacts> ranks = gather_objects(*beneath_, mine);
  require_same_table(ranks);  // in every call, until a table is set that is the same
  opened_ = true;
  std::vector<int> members;
  std::vector<std::uint64_t> hosts;
  CoreSet cores;  // of this host; each rank may be bound to one of them
  for (const RankFacts& each : ranks) {
    if (each.allowed == 0) return;
    if (each.host == mine.host) {
      members.push_back(static_cast<int>(&each - ranks.data()));
      cores.add(each.cores);
    }
    hosts.push_back(each.host);
  }
  std::sort(hosts.begin(), hosts.end());
  for (const std::uint64_t host : hosts) {
    const auto [first, last] = std::equal_range(hosts.begin(), hosts.end(), host);
    largest_host_ = std::max(largest_host_, static_cast<int>(last - first));
  }
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  if (hosts.size() == ranks.size()) return;  // no two ranks share a host

  const int ranks_on_host = static_cast<int>(members.size());
  one_host_ = hosts.size() == 1;
  auto made = SharedSegment::make(*beneath_, members, NodeBoard::bytes_for(ranks_on_host));
  if (made.segment == nullptr) {
    static std::atomic<bool> noted = false;
    if (rank() == 0 && !settings().quiet && !noted.exchange(true)) {
      print_error(fmt::format("note: allreduces go through MPI: {}", made.error));
    }
    return;
  }
  const auto position =
      static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
  const NodeWaits waits = {.oversubscribed = cores.fewer_than(ranks_on_host),
                           .progress = [beneath = beneath_.get()] { beneath->progress(); },
                           .lost =
                               [beneath = beneath_.get(), members](int peer) {
                                 const std::string reason = "its process has ended";
                                 const int rank = members[static_cast<std::size_t>(peer)];
                                 beneath->abort_for(rank, reason);
                                 throw CommError(fmt::format("rank {}: {}", rank, reason));
                               }};
  if (!one_host_) leaders_ = beneath_->split(position == 0 ? 0 : -1, rank());
  board_ = std::make_unique<NodeBoard>(std::move(made.segment), position, ranks_on_host, waits);
  use_table(table_);
}

void FastTransport::allreduce_on_nodes(AllreduceAlgorithm algorithm, ConstBufferRef in,
                                       BufferRef out, ReduceOp op) {
  const CollectiveElsewhere call(*beneath_, CallKind::allreduce);
  board_->allreduce(algorithm, in, out, op);
  if (one_host_) return;
  if (leaders_ != nullptr) leaders_->allreduce(out, out, op, CallMode::blocking);
  board_->broadcast(out);
}

}  // namespace

std::shared_ptr<Transport> make_fast_transport(std::shared_ptr<Transport> beneath) {
  if (beneath->size() == 1) return beneath;
  return std::make_shared<FastTransport>(std::move(beneath));
}

}  // namespace weft::detail
