#pragma once

#include <weft/comm/comm.hpp>

#include "bench/data.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

enum class Kind {
  allreduce,
  reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  gather,
  scatter,
  all_to_all,
  all_to_all_v,
  sendrecv,
  halo,
  redistribute,
};

/// Whether a call writes to where it reads.
enum class Form { out_of_place, in_place };

/// One point of a measurement, seen by one rank.
struct Where {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  /// About how many; the plan says exactly.
  index_t bytes = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
};

/// A call on memory that is given, to be repeated.
struct Bound {
  std::function<void()> run;
  /// Copies the result to `out` where the call leaves it elsewhere; may be null.
  std::function<void()> collect;
};

/// What one rank does at one point.
struct Plan {
  /// What bandwidths are computed from, and the number of elements that is shown with it. The same
  /// on all ranks.
  index_t bytes = 0;
  index_t count = 0;
  /// What this rank brings and what it must get.
  std::vector<Piece> in;
  std::vector<Piece> out;
  /// Where these begin, in elements, in the one memory of a call in place.
  index_t in_offset = 0;
  index_t out_offset = 0;
  /// Of calls whose parts are uneven.
  Parts sent;
  Parts received;
  std::function<Bound(const Comm& comm, BufferRef in, BufferRef out)> bind;
};

struct Case {
  Kind kind;
  std::string_view name;
  bool reduces = false;
  bool has_root = false;
  bool out_of_place = true;
  bool in_place = false;
  /// Bus bandwidth over bandwidth, for a number of ranks.
  double (*factor)(int ranks);
  Plan (*plan)(const Where& at);

  bool takes(DType dtype) const;
};

std::span<const Case> all_cases();
/// Throws ArgumentError, with all names, if there is none.
const Case& find_case(std::string_view name);

/// How many elements of one size `at.bytes` are, divided into `parts`; at least one.
index_t elements_of(const Where& at, index_t parts);

// In array_cases.cpp.
Plan plan_halo(const Where& at);
Plan plan_redistribute(const Where& at);

}  // namespace weft::bench
