#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

namespace weft::test {

/// An error of class E (exactly) on this rank, whose text has all of `words`; afterwards the
/// communicator works.
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
