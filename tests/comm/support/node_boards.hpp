#pragma once

// Boards of the ranks of a communicator, and data on which the order of operations shows.

#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/comm_state.hpp"
#include "comm/core_set.hpp"
#include "comm/node_board.hpp"
#include "support/data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::test {

/// The algorithms that the board implements.
inline std::vector<weft::detail::AllreduceRow> board_rows() {
  std::vector<weft::detail::AllreduceRow> rows;
  for (const weft::detail::AllreduceRow& row :
       weft::detail::allreduce_rows(weft::detail::AllreducePlace::process)) {
    if (row.algorithm != weft::detail::AllreduceAlgorithm::beneath) rows.push_back(row);
  }
  return rows;
}

/// A board of all ranks of a communicator.
inline std::unique_ptr<weft::detail::NodeBoard> make_board(const Comm& comm) {
  weft::detail::Transport& transport = *weft::detail::CommAccess::state(comm)->transport;
  std::vector<int> members(static_cast<std::size_t>(comm.size()));
  std::iota(members.begin(), members.end(), 0);
  auto made = weft::detail::SharedSegment::make(transport, members,
                                                weft::detail::NodeBoard::bytes_for(comm.size()));
  EXPECT_EQ(made.error, "");
  if (made.segment == nullptr) throw CommError("no shared memory");
  const weft::detail::NodeWaits waits = {
      .oversubscribed = weft::detail::CoreSet::of_process().fewer_than(comm.size()),
      .progress = [&transport] { transport.throw_if_failed(); },
      .lost = [](int peer) { throw CommError("lost " + std::to_string(peer)); }};
  return std::make_unique<weft::detail::NodeBoard>(std::move(made.segment), comm.rank(),
                                                   comm.size(), waits);
}

/// Numbers of different magnitudes, so that sums depend on the order of their terms.
template <class T>
T rough(int rank, index_t i) {
  const std::uint64_t random = mixed(rank, i);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<T>(random) / 16);  // sums of 16 ranks do not overflow
  } else if constexpr (detail::IsComplex<T>::value) {
    using R = typename T::value_type;
    return {rough<R>(rank, i), rough<R>(rank + 50, i)};
  } else {
    const double fraction = static_cast<double>(random % 4096) / 4096 - 0.5;
    return T(static_cast<float>(std::ldexp(fraction, static_cast<int>(random >> 40 & 7))));
  }
}

}  // namespace weft::test
