#include "faults/chaos/player.hpp"

#include <weft/array/halo_exchange.hpp>
#include <weft/array/redistribute.hpp>
#include <weft/array/reductions.hpp>
#include <weft/comm/message_batch.hpp>

#include <fmt/core.h>

#include <cmath>
#include <span>
#include <string_view>
#include <vector>

namespace weft::chaos {
namespace {

using Values = std::vector<double>;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

/// A small integer, so that sums of them are exact.
double value(int rank, std::size_t i, int salt) {
  return static_cast<double>((rank + 1) * (static_cast<int>(i % 13) + 1) + salt % 7);
}

Values values(int rank, int count, int salt) {
  Values made(at(count));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = value(rank, i, salt);
  return made;
}

double sum_of_values(int ranks, std::size_t i, int salt) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value(rank, i, salt);
  return sum;
}

template <class Expected>
void check(std::span<const double> seen, std::string_view what, Expected expected) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double right = expected(i);
    if (seen[i] == right) continue;
    throw WrongData(
        fmt::format("{}: element {} of {} is {}, not {}", what, i, seen.size(), seen[i], right));
  }
}

double element(const Index& at, int salt) {
  return static_cast<double>(at[0] * 1000 + at[1] + salt);
}

Shape grid_shape(const Step& step, int ranks) {
  return {ranks + step.count % 40, ranks + step.salt % 9};
}

struct PendingReduction final : Pending {
  PendingReduction(const Comm& comm, const Step& step)
      : ranks(comm.size()),
        salt(step.salt),
        in(values(comm.rank(), step.count, step.salt)),
        out(in.size()),
        request(comm.start_allreduce(in, out)) {}
  void complete() override {
    request.wait();
    check(out, "started allreduce", [&](std::size_t i) { return sum_of_values(ranks, i, salt); });
  }

  int ranks;
  int salt;
  Values in;
  Values out;
  Request request;  // destroyed first, while its buffers exist
};

struct PendingGather final : Pending {
  PendingGather(const Comm& comm, const Step& step)
      : parts(lengths(comm, step)),
        salt(step.salt),
        in(values(comm.rank(), static_cast<int>(parts.count(comm.rank())), step.salt)),
        out(at(parts.extent())),
        request(comm.start_all_gather_v(in, out, parts)) {}
  static std::vector<index_t> lengths(const Comm& comm, const Step& step) {
    std::vector<index_t> all;
    for (int rank = 0; rank < comm.size(); ++rank) all.push_back(step.count % 300 + rank % 3);
    return all;
  }
  void complete() override {
    request.wait();
    for (int rank = 0; rank < parts.ranks(); ++rank) {
      const auto part = std::span(out).subspan(at(parts.offset(rank)), at(parts.count(rank)));
      check(part, "started all_gather", [&](std::size_t i) { return value(rank, i, salt); });
    }
  }

  Parts parts;
  int salt;
  Values in;
  Values out;
  Request request;
};

struct PendingRing final : Pending {
  PendingRing(const Comm& comm, const Step& step)
      : before((comm.rank() + comm.size() - 1) % comm.size()),
        salt(step.salt),
        out(values(comm.rank(), step.count, step.salt)),
        in(out.size()),
        receiving(comm.start_recv(in, before)),
        sending(comm.start_send(out, (comm.rank() + 1) % comm.size())) {}
  void complete() override {
    receiving.wait();
    sending.wait();
    check(in, "started messages", [&](std::size_t i) { return value(before, i, salt); });
  }

  int before;
  int salt;
  Values out;
  Values in;
  Request receiving;
  Request sending;
};

struct PendingHalo final : Pending {
  PendingHalo(const Comm& comm, const Step& step)
      : salt(step.salt),
        x(Layout::scatter(comm, grid_shape(step, comm.size()), step.count % 2)),
        halo(x.layout(), widths(step), {.boundary = Boundary::periodic, .corners = false}) {
    x.fill([&](const Index& point) { return element(point, salt); });
    halo.start(x);
  }
  static std::vector<AxisPadding> widths(const Step& step) {
    std::vector<AxisPadding> all(2);
    AxisPadding& width = all[at(step.count % 2)];
    width.before = 1;
    width.after = 2;
    return all;
  }
  void complete() override {
    halo.finish();
    const Shape& shape = x.shape();
    const PaddedPart<double> part = halo.padded(x);
    const index_t rows = part.box.shape[0];
    const index_t columns = part.box.shape[1];
    for (index_t i = 0; i < rows * columns; ++i) {
      Index point = {part.box.offset[0] + i / columns, part.box.offset[1] + i % columns};
      for (int axis = 0; axis < 2; ++axis) {
        point[axis] = (point[axis] + shape[axis]) % shape[axis];
      }
      check(std::span(part.data.data() + i, 1), "halo exchange",
            [&](std::size_t) { return element(point, salt); });
    }
  }

  int salt;
  DistributedArray<double> x;
  HaloExchange<double> halo;  // destroyed first, since it reads x
};

}  // namespace

void Player::play(const Step& step) {
  switch (step.kind) {
    case StepKind::barrier:
    case StepKind::broadcast:
    case StepKind::allreduce:
    case StepKind::reduce:
    case StepKind::gather:
    case StepKind::reduce_scatter:
    case StepKind::all_gather:
    case StepKind::scatter:
    case StepKind::all_to_all: play_collective(step); break;
    case StepKind::ring:
    case StepKind::group:
    case StepKind::part:
    case StepKind::agree: play_messages(step); break;
    case StepKind::sum:
    case StepKind::redistribute:
    case StepKind::halo: play_arrays(step); break;
    case StepKind::begin_allreduce:
    case StepKind::begin_gather:
    case StepKind::begin_ring:
    case StepKind::begin_halo: begin(step); break;
    case StepKind::complete: complete_oldest(); break;
  }
}

void Player::finish() {
  while (!under_way_.empty()) complete_oldest();
}

void Player::complete_oldest() {
  if (under_way_.empty()) return;
  // Removed first, so that it is gone if it fails.
  const std::unique_ptr<Pending> oldest = std::move(under_way_.front());
  under_way_.pop_front();
  oldest->complete();
}

void Player::begin(const Step& step) {
  std::unique_ptr<Pending>& pending = under_way_.emplace_back();
  switch (step.kind) {
    case StepKind::begin_allreduce:
      pending = std::make_unique<PendingReduction>(world_, step);
      break;
    case StepKind::begin_gather: pending = std::make_unique<PendingGather>(world_, step); break;
    case StepKind::begin_ring: pending = std::make_unique<PendingRing>(world_, step); break;
    default: pending = std::make_unique<PendingHalo>(world_, step); break;
  }
  if (under_way_.size() > 6) complete_oldest();
}

void Player::play_collective(const Step& step) {
  const int me = world_.rank();
  const int ranks = world_.size();
  const Values mine = values(me, step.count, step.salt);
  const auto total = [&](std::size_t i) { return sum_of_values(ranks, i, step.salt); };
  const auto of_rank = [&](int rank, std::size_t i) { return value(rank, i, step.salt); };
  const auto count = static_cast<std::size_t>(step.count);
  Values out(count);
  Values all(count * at(ranks));
  switch (step.kind) {
    case StepKind::barrier: world_.barrier(); return;
    case StepKind::broadcast:
      out = mine;
      world_.broadcast(out, step.root);
      check(out, "broadcast", [&](std::size_t i) { return of_rank(step.root, i); });
      return;
    case StepKind::allreduce:
      world_.allreduce(mine, out);
      check(out, "allreduce", total);
      return;
    case StepKind::reduce:
      world_.reduce(mine, out, ReduceOp::sum, step.root);
      if (me == step.root) check(out, "reduce", total);
      return;
    case StepKind::gather:
      world_.gather(mine, all, step.root);
      if (me == step.root) {
        check(all, "gather",
              [&](std::size_t i) { return of_rank(static_cast<int>(i / count), i % count); });
      }
      return;
    case StepKind::reduce_scatter: {
      const Values whole = values(me, static_cast<int>(all.size()), step.salt);
      world_.reduce_scatter(whole, out);
      check(out, "reduce_scatter", [&](std::size_t i) { return total(count * at(me) + i); });
      return;
    }
    case StepKind::all_gather:
      world_.all_gather(mine, all);
      check(all, "all_gather",
            [&](std::size_t i) { return of_rank(static_cast<int>(i / count), i % count); });
      return;
    case StepKind::scatter: {
      const Values whole = values(me, static_cast<int>(all.size()), step.salt);
      world_.scatter(whole, out, step.root);
      check(out, "scatter", [&](std::size_t i) { return of_rank(step.root, count * at(me) + i); });
      return;
    }
    default: {
      const Values whole = values(me, static_cast<int>(all.size()), step.salt);
      world_.all_to_all(whole, all);
      check(all, "all_to_all", [&](std::size_t i) {
        return of_rank(static_cast<int>(i / count), count * at(me) + i % count);
      });
      return;
    }
  }
}

void Player::play_messages(const Step& step) {
  const int me = world_.rank();
  const int ranks = world_.size();
  if (step.kind == StepKind::agree) {
    world_.agree();
    return;
  }
  if (step.kind == StepKind::part) {
    const Comm part = world_.split(me % 2, -me);
    const int sum = part.allreduce(me);
    int right = 0;
    for (int rank = me % 2; rank < ranks; rank += 2) right += rank;
    if (sum != right) throw WrongData(fmt::format("allreduce in a part: {}, not {}", sum, right));
    return;
  }
  const Values mine = values(me, step.count, step.salt);
  if (step.kind == StepKind::ring) {
    const int before = (me + ranks - 1) % ranks;
    Values in(mine.size());
    world_.sendrecv(mine, (me + 1) % ranks, in, before);
    check(in, "sendrecv", [&](std::size_t i) { return value(before, i, step.salt); });
    return;
  }
  std::vector<Values> in(at(ranks), Values(mine.size()));
  MessageBatch group(world_);
  for (int peer = 0; peer < ranks; ++peer) group.send(mine, peer).recv(in[at(peer)], peer);
  group.run();
  for (int peer = 0; peer < ranks; ++peer) {
    check(in[at(peer)], "group", [&](std::size_t i) { return value(peer, i, step.salt); });
  }
}

void Player::play_arrays(const Step& step) {
  if (step.kind == StepKind::halo) {
    PendingHalo(world_, step).complete();
    return;
  }
  const Shape shape = grid_shape(step, world_.size());
  DistributedArray<double> x(Layout::scatter(world_, shape, 0));
  const auto fill = [&](const Index& point) { return element(point, step.salt); };
  x.fill(fill);
  if (step.kind == StepKind::sum) {
    double right = 0;
    for (index_t i = 0; i < shape.count(); ++i) right += fill({i / shape[1], i % shape[1]});
    const double seen = sum(x);
    check(std::span(&seen, 1), "sum", [&](std::size_t) { return right; });
    return;
  }
  const DistributedArray<double> y = x.redistribute(Layout::scatter(world_, shape, 1));
  DistributedArray<double> right(y.layout());
  right.fill(fill);
  check(y.local(), "redistribution", [&](std::size_t i) { return right.local()[i]; });
}

}  // namespace weft::chaos
