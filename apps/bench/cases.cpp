#include "bench/cases.hpp"

#include <weft/core/error.hpp>

#include <algorithm>
#include <array>

namespace weft::bench {
namespace {

double one(int) { return 1; }
double all_but_own(int ranks) { return (ranks - 1.0) / ranks; }
double twice_all_but_own(int ranks) { return 2 * all_but_own(ranks); }

/// A plan whose `call(comm, in, out)` works on the memory itself.
template <class Call>
void set_call(Plan& plan, Call call) {
  plan.bind = [call](const Comm& comm, BufferRef in, BufferRef out) {
    return Bound{[=] { call(comm, in, out); }, {}};
  };
}

/// A plan for `parts` times as many bytes as `count` elements have.
Plan plan_of(const Where& at, index_t parts) {
  Plan plan;
  plan.count = elements_of(at, parts);
  plan.bytes = plan.count * parts * size_of(at.dtype);
  return plan;
}

/// `count` elements of every rank's data, from element `first` on.
std::vector<Piece> of_every_rank(int ranks, index_t first, index_t count) {
  std::vector<Piece> pieces;
  for (int rank = 0; rank < ranks; ++rank) pieces.push_back({rank, first, count});
  return pieces;
}

Plan plan_allreduce(const Where& at) {
  Plan plan = plan_of(at, 1);
  plan.in = {{at.rank, 0, plan.count}};
  plan.out = {{reduced, 0, plan.count}};
  set_call(plan, [op = at.op](const Comm& comm, BufferRef in, BufferRef out) {
    comm.allreduce(in, out, op);
  });
  return plan;
}

Plan plan_reduce(const Where& at) {
  Plan plan = plan_of(at, 1);
  plan.in = {{at.rank, 0, plan.count}};
  if (at.rank == at.root) plan.out = {{reduced, 0, plan.count}};
  set_call(plan, [op = at.op, root = at.root](const Comm& comm, BufferRef in, BufferRef out) {
    comm.reduce(in, out, op, root);
  });
  return plan;
}

Plan plan_reduce_scatter(const Where& at) {
  Plan plan = plan_of(at, at.ranks);
  plan.in = {{at.rank, 0, at.ranks * plan.count}};
  plan.out = {{reduced, at.rank * plan.count, plan.count}};
  plan.out_offset = at.rank * plan.count;
  set_call(plan, [op = at.op](const Comm& comm, BufferRef in, BufferRef out) {
    comm.reduce_scatter(in, out, op);
  });
  return plan;
}

Plan plan_all_gather(const Where& at) {
  Plan plan = plan_of(at, at.ranks);
  plan.in = {{at.rank, 0, plan.count}};
  plan.out = of_every_rank(at.ranks, 0, plan.count);
  plan.in_offset = at.rank * plan.count;
  set_call(plan, [](const Comm& comm, BufferRef in, BufferRef out) { comm.all_gather(in, out); });
  return plan;
}

Plan plan_broadcast(const Where& at) {
  Plan plan = plan_of(at, 1);
  if (at.rank == at.root) plan.in = {{at.root, 0, plan.count}};
  plan.out = {{at.root, 0, plan.count}};
  set_call(plan, [root = at.root](const Comm& comm, BufferRef, BufferRef out) {
    comm.broadcast(out, root);
  });
  return plan;
}

Plan plan_gather(const Where& at) {
  Plan plan = plan_of(at, at.ranks);
  plan.in = {{at.rank, 0, plan.count}};
  if (at.rank == at.root) {
    plan.out = of_every_rank(at.ranks, 0, plan.count);
    plan.in_offset = at.rank * plan.count;
  }
  set_call(plan, [root = at.root](const Comm& comm, BufferRef in, BufferRef out) {
    comm.gather(in, out, root);
  });
  return plan;
}

Plan plan_scatter(const Where& at) {
  Plan plan = plan_of(at, at.ranks);
  plan.out = {{at.root, at.rank * plan.count, plan.count}};
  if (at.rank == at.root) {
    plan.in = {{at.root, 0, at.ranks * plan.count}};
    plan.out_offset = at.rank * plan.count;
  }
  set_call(plan, [root = at.root](const Comm& comm, BufferRef in, BufferRef out) {
    comm.scatter(in, out, root);
  });
  return plan;
}

Plan plan_all_to_all(const Where& at) {
  Plan plan = plan_of(at, at.ranks);
  plan.in = {{at.rank, 0, at.ranks * plan.count}};
  plan.out = of_every_rank(at.ranks, at.rank * plan.count, plan.count);
  set_call(plan, [](const Comm& comm, BufferRef in, BufferRef out) { comm.all_to_all(in, out); });
  return plan;
}

/// The number of units between two ranks in either direction: 0, 1 or 2.
index_t weight(int from, int to) { return (from + to + 1) % 3; }

/// The number of units from `from` to all ranks before `to`.
index_t weight_before(int from, int to) {
  index_t total = 0;
  for (int rank = 0; rank < to; ++rank) total += weight(from, rank);
  return total;
}

Plan plan_all_to_all_v(const Where& at) {
  index_t largest = 0;
  for (int rank = 0; rank < at.ranks; ++rank) {
    largest = std::max(largest, weight_before(rank, at.ranks));
  }
  const index_t unit = elements_of(at, largest);
  Plan plan;
  plan.count = unit * largest;
  plan.bytes = plan.count * size_of(at.dtype);
  std::vector<index_t> counts;
  for (int peer = 0; peer < at.ranks; ++peer) {
    counts.push_back(unit * weight(at.rank, peer));
    plan.out.push_back({peer, unit * weight_before(peer, at.rank), counts.back()});
  }
  plan.in = {{at.rank, 0, unit * weight_before(at.rank, at.ranks)}};
  plan.sent = Parts(counts);
  plan.received = plan.sent;
  set_call(plan, [parts = plan.sent](const Comm& comm, BufferRef in, BufferRef out) {
    comm.all_to_all_v(in, parts, out, parts);
  });
  return plan;
}

Plan plan_sendrecv(const Where& at) {
  Plan plan = plan_of(at, 1);
  const int next = (at.rank + 1) % at.ranks;
  const int previous = (at.rank + at.ranks - 1) % at.ranks;
  plan.in = {{at.rank, 0, plan.count}};
  plan.out = {{previous, 0, plan.count}};
  set_call(plan, [=](const Comm& comm, BufferRef in, BufferRef out) {
    comm.sendrecv(in, next, out, previous);
  });
  return plan;
}

constexpr bool reduces = true;
constexpr bool rooted = true;
constexpr bool apart = true;
constexpr bool in_place = true;

constexpr std::array<Case, 12> cases = {{
    {Kind::allreduce, "allreduce", reduces, !rooted, apart, in_place, twice_all_but_own,
     plan_allreduce},
    {Kind::reduce, "reduce", reduces, rooted, apart, in_place, one, plan_reduce},
    {Kind::reduce_scatter, "reduce_scatter", reduces, !rooted, apart, in_place, all_but_own,
     plan_reduce_scatter},
    {Kind::all_gather, "all_gather", !reduces, !rooted, apart, in_place, all_but_own,
     plan_all_gather},
    {Kind::broadcast, "broadcast", !reduces, rooted, !apart, in_place, one, plan_broadcast},
    {Kind::gather, "gather", !reduces, rooted, apart, in_place, all_but_own, plan_gather},
    {Kind::scatter, "scatter", !reduces, rooted, apart, in_place, all_but_own, plan_scatter},
    {Kind::all_to_all, "all_to_all", !reduces, !rooted, apart, !in_place, all_but_own,
     plan_all_to_all},
    {Kind::all_to_all_v, "all_to_all_v", !reduces, !rooted, apart, !in_place, all_but_own,
     plan_all_to_all_v},
    {Kind::sendrecv, "sendrecv", !reduces, !rooted, apart, !in_place, one, plan_sendrecv},
    {Kind::halo, "halo", !reduces, !rooted, apart, !in_place, one, plan_halo},
    {Kind::redistribute, "redistribute", !reduces, !rooted, apart, !in_place, all_but_own,
     plan_redistribute},
}};

std::string case_names() {
  std::string names;
  for (const Case& each : cases) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

}  // namespace

std::span<const Case> all_cases() { return cases; }

const Case& find_case(std::string_view name) {
  const auto* found =
      std::find_if(cases.begin(), cases.end(), [&](const Case& each) { return each.name == name; });
  require(found != cases.end(), "bench: there is no '{}'; calls are {}, or tune", name,
          case_names());
  return *found;
}

bool Case::takes(DType dtype) const {
  if (kind != Kind::halo && kind != Kind::redistribute) return true;
  return dtype >= DType::f32 && dtype <= DType::c128;  // the element types of arrays
}

index_t elements_of(const Where& at, index_t parts) {
  return std::max<index_t>(1, at.bytes / size_of(at.dtype) / parts);
}

}  // namespace weft::bench
