#pragma once

// The algorithms of allreduce, one by one instead of by the table.

#include <weft/comm/comm.hpp>

#include "bench/results.hpp"
#include "comm/allreduce_table.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

/// The algorithms that a communicator can use for its default device.
class Algorithms {
 public:
  /// Those of this name, or "all" that WEFT_ORDER admits. Collective.
  Algorithms(const Comm& world, std::string_view name);

  /// Why there are none; empty if there are.
  const std::string& obstacle() const { return obstacle_; }
  std::span<const detail::AllreduceRow> rows() const { return rows_; }
  /// The ranks that the algorithms connect, if there are algorithms.
  const detail::AllreduceTeam& team() const { return team_; }

  /// Makes later allreduces use a row. Collective.
  void use(const detail::AllreduceRow& row) const;
  /// Makes them use the table again.
  void use_table() const;

 private:
  Comm world_;
  detail::AllreduceTeam team_;
  std::vector<detail::AllreduceRow> rows_;
  std::string obstacle_;
};

/// The limits that select the fastest algorithm of every measured size, and that of the next larger
/// one for sizes in between. `rows` are ordered by size.
std::vector<detail::AllreduceLimit> tuned_limits(const detail::AllreduceTeam& team,
                                                 std::span<const Row> rows);

/// A comment that lists limits of one place and number of ranks.
std::string limits_text(std::span<const detail::AllreduceLimit> limits);

}  // namespace weft::bench
