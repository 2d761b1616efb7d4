// Messages of the watchdog of an MPI rank about the ranks it waits for.

#include "comm/mpi_wait_view.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {
namespace {

/// Rank 0 waits for rank 1 in an allreduce; the test plays rank 1.
class WaitViewOfTwo : public testing::Test {
 protected:
  WaitViewOfTwo() {
    std::vector<ControlAddress> addresses = {mine_->address(), theirs_->address()};
    theirs_->connect(1, addresses);
    mine_->connect(0, std::move(addresses));
    line_.socket = mine_;
  }

  /// The failure that so many checks find, a tenth of a second apart.
  std::string failure(int checks, double time_limit) {
    const WatchedCollective call(*comm_, "allreduce", true);
    for (int i = 0; i < checks; ++i) {
      const std::optional<JobFailure> failure = view_.check(0.1, time_limit, line_);
      if (failure) return failure->reason;
      if (answers_) answer();
    }
    return "";
  }

  void answer() {
    ControlMessage message;
    while (theirs_->receive(message, std::chrono::milliseconds(0))) {
      ControlMessage answer;
      answer.kind = ControlKind::reply;
      answer.comm = message.comm;
      answer.member = message.member;
      answer.from = 1;
      view_.handle_reply(answer);
    }
  }

  std::shared_ptr<ControlSocket> mine_ = std::make_shared<ControlSocket>(true);
  std::shared_ptr<ControlSocket> theirs_ = std::make_shared<ControlSocket>(true);
  std::shared_ptr<WatchedComm> comm_ = std::make_shared<WatchedComm>(7, std::vector<int>{0, 1}, 0);
  WaitView view_{comm_, WaitView::Kind::call};
  ControlLine line_;
  bool answers_ = false;
};

std::string waited(const std::string& time, const std::string& ranks) {
  return "waited " + time + " s for " + ranks +
         " in allreduce, which is the limit set by WEFT_TIMEOUT";
}

TEST_F(WaitViewOfTwo, reports_no_state_without_queries) {
  line_.reaches_host = true;
  EXPECT_EQ(failure(20, 0.05), waited("0.05", "rank 1"));
  EXPECT_EQ(failure(20, 0.15), waited("0.15", "rank 1")) << "it had no time to respond";
}

TEST_F(WaitViewOfTwo, reports_no_state_of_ranks_that_datagrams_do_not_reach) {
  EXPECT_EQ(failure(20, 1), waited("1", "rank 1"));
}

TEST_F(WaitViewOfTwo, reports_unresponsive_ranks) {
  line_.reaches_host = true;
  EXPECT_EQ(failure(20, 1), waited("1", "rank 1 (does not respond)"));
}

TEST_F(WaitViewOfTwo, reports_replies) {
  answers_ = true;
  EXPECT_EQ(failure(20, 1), waited("1", "rank 1 (outside any call)"));
}

}  // namespace
}  // namespace weft::detail
