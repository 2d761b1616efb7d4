#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

namespace weft::test {

/// Expects an error of exactly class E on this rank, whose text contains all `words`, and the
/// communicator to remain usable.
template <class E = ArgumentError>
void expect_error(const Comm& comm, const std::vector<std::string>& words,
                  const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "no error, but one was expected with '" << words.front() << "'";
  } catch (const Error& error) {
    EXPECT_EQ(typeid(error), typeid(E)) << error.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "'" << word << "' is not in: " << error.what();
    }
  }
  comm.barrier();
  EXPECT_EQ(comm.allreduce(1), comm.size());
}

}  // namespace weft::test
