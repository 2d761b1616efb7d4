// Collectives through shared memory: among processes on MPI, and among threads, which share it in
// the same way.

#include <weft/core/error.hpp>
#include <weft/core/scalars.hpp>

#include "comm/support/node_boards.hpp"
#include "support/data.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft::test {
namespace {

using weft::detail::AllreduceRow;
using weft::detail::NodeArea;
using weft::detail::NodeBoard;
using weft::detail::SharedSegment;

/// Limits the size of files, and so of shared memory, for its lifetime.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit lower = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lower);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_;
  void (*handler_)(int);
};

/// The op over the ranks, from the first to the last. 16-bit floats are added as floats.
template <class T>
T folded(ReduceOp op, int ranks, index_t i) {
  using Wide =
      std::conditional_t<std::is_same_v<T, weft::Half> || std::is_same_v<T, weft::BFloat16>, float,
                         T>;
  auto result = static_cast<Wide>(rough<T>(0, i));
  for (int rank = 1; rank < ranks; ++rank) {
    const auto next = static_cast<Wide>(rough<T>(rank, i));
    if (op == ReduceOp::sum) result = static_cast<Wide>(result + next);
    if constexpr (!detail::IsComplex<T>::value) {
      if (op == ReduceOp::max) result = result < next ? next : result;
    }
  }
  return static_cast<T>(result);
}

template <class T>
void expect_rank_order(NodeBoard& board, const AllreduceRow& row, const Comm& comm, ReduceOp op,
                       index_t count, bool in_place) {
  SCOPED_TRACE(testing::Message() << row.name << ", " << to_string(dtype_of<T>) << ", " << count);
  // One element after the start of the allocation: not aligned to more than the type.
  std::vector<T> in(static_cast<std::size_t>(count) + 1);
  std::vector<T> out(in.size());
  for (index_t i = 0; i < count; ++i)
    in[static_cast<std::size_t>(i) + 1] = rough<T>(comm.rank(), i);
  T* const target = in_place ? in.data() + 1 : out.data() + 1;
  board.allreduce(row.algorithm, ConstBufferRef(in.data() + 1, count), BufferRef(target, count),
                  op);
  std::vector<T> expected(static_cast<std::size_t>(count));
  for (index_t i = 0; i < count; ++i)
    expected[static_cast<std::size_t>(i)] = folded<T>(op, comm.size(), i);
  EXPECT_TRUE(same_bits(target, expected.data(), expected.size() * sizeof(T)));
}

TEST(NodeBoard, every_algorithm_keeps_the_order_of_ranks) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    for (const DType dtype : all_dtypes) {
      with_type(dtype, [&](auto example) {
        using T = decltype(example);
        constexpr index_t slab = NodeArea::slab_bytes / static_cast<index_t>(sizeof(T));
        for (const AllreduceRow& row : board_rows()) {
          EXPECT_TRUE(row.keeps_rank_order);
          for (const index_t count : {index_t{1}, index_t{2}, index_t{7}, index_t{31},
                                      index_t{1000}, slab - 1, slab, slab + 1, 3 * slab + 17}) {
            const index_t bytes = count * static_cast<index_t>(sizeof(T));
            if (!row.applies({comm.size(), bytes, dtype, ReduceOp::sum})) continue;
            expect_rank_order<T>(*board, row, comm, ReduceOp::sum, count, count % 2 == 0);
          }
          if (has_op(dtype, ReduceOp::max)) {
            expect_rank_order<T>(*board, row, comm, ReduceOp::max, 5, false);
          }
        }
      });
    }
  });
}

TEST(NodeBoard, algorithms_follow_each_other_without_a_pause) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    const auto rows = board_rows();
    std::vector<std::int64_t> data;
    for (int call = 0; call < 3000; ++call) {
      const AllreduceRow& row = rows[mixed(3, call) % rows.size()];
      const auto count = static_cast<index_t>(1 + mixed(4, call) % 60);
      data.assign(static_cast<std::size_t>(count), call + comm.rank());
      board->allreduce(row.algorithm, data, data, ReduceOp::sum);
      // Overwritten right after the call, while others may still be in it.
      const std::int64_t expected =
          std::int64_t{call} * comm.size() + std::int64_t{comm.size()} * (comm.size() - 1) / 2;
      ASSERT_EQ(data, std::vector<std::int64_t>(data.size(), expected)) << row.name;
    }
  });
}

TEST(NodeBoard, late_ranks_are_waited_for) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    for (const AllreduceRow& row : board_rows()) {
      for (int late = 0; late < comm.size(); ++late) {
        if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::vector<float> data(100, 1.0F);
        board->allreduce(row.algorithm, data, data, ReduceOp::sum);
        EXPECT_EQ(data, std::vector<float>(100, static_cast<float>(comm.size())));
      }
    }
  });
}

TEST(NodeBoard, broadcasts_from_the_first_rank) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    for (const index_t count : {1, 1000, 20001, 100000}) {
      std::vector<std::int32_t> data(static_cast<std::size_t>(count), comm.rank());
      if (comm.rank() == 0) std::iota(data.begin(), data.end(), 7);
      board->broadcast(data);
      EXPECT_EQ(data.front(), 7);
      EXPECT_EQ(data.back(), 7 + static_cast<int>(count) - 1);
    }
  });
}

TEST(NodeBoard, different_calls_are_an_error_on_all_ranks) {
  on_ranks([](Comm comm) {
    if (comm.size() == 1) return;
    const auto board = make_board(comm);
    std::vector<double> data(static_cast<std::size_t>(comm.rank() == 1 ? 3 : 2));
    std::string text;
    try {
      board->allreduce_inline(data, data, ReduceOp::sum);
    } catch (const CommError& error) {
      text = error.what();
    }
    EXPECT_NE(text.find("allreduce"), std::string::npos) << text;
    EXPECT_NE(text.find('3'), std::string::npos) << text;
    // The board remains usable.
    std::vector<double> more(2, 1.0);
    board->allreduce_one_shot(more, more, ReduceOp::sum);
    EXPECT_EQ(more[1], comm.size());
  });
}

TEST(NodeBoard, generations_may_wrap_around) {
  on_ranks([](Comm comm) {
    const auto board = make_board(comm);
    board->skip_to_generation(~std::uint64_t{0} - 2 * NodeArea::copies);
    for (int call = 0; call < 10; ++call) {
      for (const AllreduceRow& row : board_rows()) {
        std::vector<std::int32_t> data(50, call);
        board->allreduce(row.algorithm, data, data, ReduceOp::sum);
        ASSERT_EQ(data, std::vector<std::int32_t>(50, call * comm.size())) << row.name;
      }
    }
  });
}

TEST(SharedSegment, that_cannot_be_reserved_is_an_error_on_all_ranks) {
  on_ranks([](Comm comm) {
    weft::detail::Transport& transport = *weft::detail::CommAccess::state(comm)->transport;
    std::vector<int> members(static_cast<std::size_t>(comm.size()));
    std::iota(members.begin(), members.end(), 0);
    comm.barrier();
    std::optional<FileSizeLimit> limit;
    if (comm.rank() == 0) limit.emplace(1 << 20);  // this rank creates the segment
    const auto made = SharedSegment::make(transport, members, 2 << 20);
    EXPECT_EQ(made.segment, nullptr);
    EXPECT_NE(made.error.find("rank 0 cannot reserve 2097"), std::string::npos) << made.error;
  });
}

// A rank that waits in shared memory must still serve peers that are in MPI: this send is too large
// to complete without its receiver.
TEST(FastTransport, waiting_ranks_receive_messages) {
  on_ranks([](Comm comm) {
    if (comm.size() < 2) return;
    std::vector<double> data(1 << 20, 1.5);
    Request request;
    if (comm.rank() == 1) {
      data.assign(data.size(), 0);
      request = comm.start_recv(data, 0);
    } else if (comm.rank() == 0) {
      comm.send(data, 1);
    }
    EXPECT_EQ(comm.allreduce(1), comm.size());
    request.wait();
    if (comm.rank() <= 1) {
      EXPECT_EQ(data.back(), 1.5);
    }
  });
}

TEST(FastTransport, split_communicators_are_independent) {
  on_ranks([](Comm comm) {
    const Comm half = comm.split(comm.rank() % 2);
    const Comm again = comm.dup();
    for (int call = 0; call < 50; ++call) {
      EXPECT_EQ(half.allreduce(1), half.size());
      EXPECT_EQ(again.allreduce(call), call * comm.size());
      EXPECT_EQ(comm.allreduce(2), 2 * comm.size());
    }
  });
}

}  // namespace
}  // namespace weft::test
