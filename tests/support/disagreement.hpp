#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::test {

/// Expects `call` to throw an AgreedError with the same text on every rank, which contains all
/// `words`, and the communicator to remain usable.
inline void expect_disagreement(const Comm& comm, const std::vector<std::string>& words,
                                const std::function<void()>& call) {
  std::string text;
  try {
    call();
  } catch (const AgreedError& error) {
    text = error.what();
  }
  EXPECT_FALSE(text.empty()) << "no AgreedError on rank " << comm.rank();
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is not in: " << text;
  }
  std::vector<std::uint8_t> first(8192);
  std::copy_n(text.begin(), std::min(text.size(), first.size()), first.begin());
  const std::vector<std::uint8_t> mine = first;
  comm.broadcast(first, 0);
  EXPECT_EQ(mine, first) << "the text differs between the ranks";
  EXPECT_EQ(comm.allreduce(1), comm.size());
}

}  // namespace weft::test
