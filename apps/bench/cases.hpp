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

/// Whether a call writes its result over its input.
enum class Form { out_of_place, in_place };

/// One measurement on one rank.
struct Where {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  /// Approximate; the plan has the exact number.
  index_t bytes = 0;
  DType dtype = DType::f32;
  ReduceOp op = ReduceOp::sum;
};

/// A repeatable call on given memory.
struct Bound {
  std::function<void()> run;
  /// Copies the result to `out` if the call stores it elsewhere; may be null.
  std::function<void()> collect;
};

/// The call of one rank in one measurement.
struct Plan {
  /// The bytes for bandwidths and the number of elements in the table. The same on all ranks.
  index_t bytes = 0;
  index_t count = 0;
  /// The input and the expected output of this rank.
  std::vector<Piece> in;
  std::vector<Piece> out;
  /// Their offsets, in elements, in the buffer of an in-place call.
  index_t in_offset = 0;
  index_t out_offset = 0;
  /// For calls with uneven parts.
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
  /// Bus bandwidth / bandwidth for a number of ranks.
  double (*factor)(int ranks);
  Plan (*plan)(const Where& at);

  bool takes(DType dtype) const;
};

std::span<const Case> all_cases();
/// Throws ArgumentError with all names if there is no such case.
const Case& find_case(std::string_view name);

/// The number of elements in each of `parts` parts of `at.bytes`; at least one.
index_t elements_of(const Where& at, index_t parts);

// In array_cases.cpp.
Plan plan_halo(const Where& at);
Plan plan_redistribute(const Where& at);

}  // namespace weft::bench
