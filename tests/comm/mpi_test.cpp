// Properties of MPI: 32-bit counts, types and ops, and lengths that do not match. The conformance
// suite tests the rest.

#include <weft/comm/comm.hpp>
#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/mpi_library.hpp"
#include "support/operator_new.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace weft;
using weft::test::on_ranks;

using Numbers = std::vector<std::int64_t>;

/// Makes all data large: MPI gets at most this many elements per call.
class LowLimit {
 public:
  explicit LowLimit(index_t elements) { detail::set_mpi_count_limit(elements); }
  ~LowLimit() { detail::set_mpi_count_limit(std::numeric_limits<int>::max()); }
  LowLimit(const LowLimit&) = delete;
  LowLimit& operator=(const LowLimit&) = delete;
};

/// Runs body with a count limit if ranks are MPI processes.
void on_mpi(index_t limit, const std::function<void(const Comm&)>& body) {
  bool skipped = false;
  on_ranks([&](const Comm& world) {
    if (world.transport() != "mpi") {
      skipped = true;
      return;
    }
    world.barrier();
    {
      const LowLimit low(limit);
      body(world);
      world.barrier();
    }
  });
  if (skipped) GTEST_SKIP() << "the ranks of this run are not MPI processes";
}

std::int64_t value(int rank, index_t i) { return 1000 * (rank + 1) + i; }

Numbers values(int rank, index_t count) {
  Numbers numbers(static_cast<std::size_t>(count));
  for (index_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = value(rank, i);
  return numbers;
}

Numbers sums(int ranks, index_t count) {
  Numbers numbers(static_cast<std::size_t>(count));
  for (index_t i = 0; i < count; ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      numbers[static_cast<std::size_t>(i)] += value(rank, i);
    }
  }
  return numbers;
}

/// Parts of 0, 4, 8, ... elements with gaps, not in rank order.
Parts scattered_parts(int ranks) {
  std::vector<index_t> counts(static_cast<std::size_t>(ranks));
  std::vector<index_t> offsets(counts.size());
  index_t end = 2;
  for (int rank = ranks - 1; rank >= 0; --rank) {
    counts[static_cast<std::size_t>(rank)] = 4 * rank;
    offsets[static_cast<std::size_t>(rank)] = end;
    end += 4 * rank + 3;
  }
  return {counts, offsets};
}

Parts uneven_parts(int ranks) {
  std::vector<index_t> counts;
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(rank % 3 * 5);
  return Parts(counts);
}

Parts even_parts(int ranks, index_t count) {
  Parts parts;
  parts.make_even(ranks, count);
  return parts;
}

std::vector<Parts> kinds_of_parts(int ranks) {
  return {even_parts(ranks, 0), even_parts(ranks, 1), even_parts(ranks, 9), uneven_parts(ranks),
          scattered_parts(ranks)};
}

/// The parts of all ranks, -1 elsewhere.
Numbers assembled(const Parts& parts) {
  Numbers numbers(static_cast<std::size_t>(parts.extent()), -1);
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    for (index_t i = 0; i < parts.count(rank); ++i) {
      numbers[static_cast<std::size_t>(parts.offset(rank) + i)] = value(rank, i);
    }
  }
  return numbers;
}

const std::vector<index_t> counts_around_chunks = {0, 1, 6, 7, 8, 14, 15, 50};

TEST(MpiChunks, broadcast) {
  on_mpi(7, [](const Comm& world) {
    const int root = world.size() - 1;
    for (const index_t count : counts_around_chunks) {
      Numbers now = values(world.rank(), count);
      world.broadcast(now, root);
      EXPECT_EQ(now, values(root, count));
      Numbers later = values(world.rank(), count);
      world.start_broadcast(later, root).wait();
      EXPECT_EQ(later, values(root, count));
    }
  });
}

TEST(MpiChunks, allreduce) {
  on_mpi(7, [](const Comm& world) {
    for (const index_t count : counts_around_chunks) {
      const Numbers mine = values(world.rank(), count);
      Numbers now(mine.size());
      world.allreduce(mine, now);
      EXPECT_EQ(now, sums(world.size(), count));
      Numbers in_place = mine;
      world.allreduce(in_place);
      EXPECT_EQ(in_place, now);
      Numbers later = mine;
      world.start_allreduce(later, later).wait();
      EXPECT_EQ(later, now);
    }
  });
}

TEST(MpiChunks, reduce) {
  on_mpi(7, [](const Comm& world) {
    for (const index_t count : counts_around_chunks) {
      const Numbers mine = values(world.rank(), count);
      const int root = static_cast<int>(count) % world.size();
      const Numbers expected = world.rank() == root ? sums(world.size(), count) : mine;
      Numbers now = mine;
      world.reduce(now, now, ReduceOp::sum, root);
      EXPECT_EQ(now, expected);
      Numbers later = mine;
      world.start_reduce(mine, later, ReduceOp::sum, root).wait();
      EXPECT_EQ(later, expected);
    }
  });
}

void check_reduce_scatter(const Comm& world, const Parts& parts) {
  const Numbers all = values(world.rank(), parts.extent());
  const Numbers total = sums(world.size(), parts.extent());
  const index_t offset = parts.offset(world.rank());
  const index_t count = parts.count(world.rank());
  Numbers expected;
  if (count > 0) expected.assign(total.begin() + offset, total.begin() + offset + count);

  Numbers now(expected.size());
  world.reduce_scatter_v(all, parts, now);
  EXPECT_EQ(now, expected);
  Numbers later(expected.size());
  world.start_reduce_scatter_v(all, parts, later).wait();
  EXPECT_EQ(later, expected);
  if (count == 0) {
    world.reduce_scatter_v(all, parts, BufferRef(later));
    return;
  }
  Numbers in_place = all;
  const BufferRef mine(in_place.data() + offset, count);
  world.reduce_scatter_v(in_place, parts, mine);
  EXPECT_EQ(Numbers(in_place.begin() + offset, in_place.begin() + offset + count), expected);
}

void check_all_gather(const Comm& world, const Parts& parts) {
  const Numbers mine = values(world.rank(), parts.count(world.rank()));
  const Numbers expected = assembled(parts);
  Numbers now(expected.size(), -1);
  world.all_gather_v(mine, now, parts);
  EXPECT_EQ(now, expected);
  Numbers later(expected.size(), -1);
  world.start_all_gather_v(mine, later, parts).wait();
  EXPECT_EQ(later, expected);
}

void check_gather(const Comm& world, const Parts& parts) {
  const int root = world.size() / 2;
  const Numbers mine = values(world.rank(), parts.count(world.rank()));
  const bool is_root = world.rank() == root;
  const Numbers expected = is_root ? assembled(parts) : Numbers();
  // Parts are ignored on other ranks.
  const Parts said = is_root ? parts : even_parts(world.size(), 1);
  Numbers now(expected.size(), -1);
  world.gather_v(mine, now, said, root);
  EXPECT_EQ(now, expected);
  Numbers later(expected.size(), -1);
  world.start_gather_v(mine, later, said, root).wait();
  EXPECT_EQ(later, expected);
}

void check_scatter(const Comm& world, const Parts& parts) {
  const int root = world.size() / 2;
  const bool is_root = world.rank() == root;
  const Numbers all = is_root ? assembled(parts) : Numbers();
  const Parts said = is_root ? parts : even_parts(world.size(), 1);
  const Numbers expected = values(world.rank(), parts.count(world.rank()));
  Numbers now(expected.size());
  world.scatter_v(all, said, now, root);
  EXPECT_EQ(now, expected);
  Numbers later(expected.size());
  world.start_scatter_v(all, said, later, root).wait();
  EXPECT_EQ(later, expected);
}

/// Both ranks of every pair use the same parts.
void check_parts(index_t limit, void (*check_one)(const Comm&, const Parts&)) {
  on_mpi(limit, [&](const Comm& world) {
    for (const Parts& parts : kinds_of_parts(world.size())) check_one(world, parts);
  });
}

// With these limits no part, some parts, or all parts (from a packed copy) use the collective call.
TEST(MpiChunks, reduce_scatter) {
  for (const index_t limit : {1, 7, 16}) check_parts(limit, check_reduce_scatter);
}
TEST(MpiChunks, all_gather) {
  for (const index_t limit : {1, 7, 16}) check_parts(limit, check_all_gather);
}
TEST(MpiChunks, gather) {
  for (const index_t limit : {1, 7, 16, 35}) check_parts(limit, check_gather);
}
TEST(MpiChunks, scatter) {
  for (const index_t limit : {1, 7, 16, 35}) check_parts(limit, check_scatter);
}

/// Rank a sends (a + 2 b) % 7 elements to rank b; parts have gaps.
index_t exchanged(int from, int to) { return (from + 2 * to) % 7; }

Parts with_gaps(const std::vector<index_t>& counts) {
  std::vector<index_t> offsets;
  index_t end = 1;
  for (const index_t count : counts) {
    offsets.push_back(end);
    end += count + 1;
  }
  return {counts, offsets};
}

TEST(MpiChunks, all_to_all) {
  for (const index_t limit : {1, 7, 16, 24}) {
    on_mpi(limit, [](const Comm& world) {
      std::vector<index_t> sent_counts;
      std::vector<index_t> received_counts;
      for (int peer = 0; peer < world.size(); ++peer) {
        sent_counts.push_back(exchanged(world.rank(), peer));
        received_counts.push_back(exchanged(peer, world.rank()));
      }
      const Parts sent = with_gaps(sent_counts);
      const Parts received = with_gaps(received_counts);
      Numbers in(static_cast<std::size_t>(sent.extent()));
      Numbers expected(static_cast<std::size_t>(received.extent()), -1);
      for (int peer = 0; peer < world.size(); ++peer) {
        for (index_t i = 0; i < sent.count(peer); ++i) {
          in[static_cast<std::size_t>(sent.offset(peer) + i)] = value(world.rank(), 100 * peer + i);
        }
        for (index_t i = 0; i < received.count(peer); ++i) {
          expected[static_cast<std::size_t>(received.offset(peer) + i)] =
              value(peer, 100 * world.rank() + i);
        }
      }
      Numbers now(expected.size(), -1);
      world.all_to_all_v(in, sent, now, received);
      EXPECT_EQ(now, expected);
      Numbers later(expected.size(), -1);
      world.start_all_to_all_v(in, sent, later, received).wait();
      EXPECT_EQ(later, expected);
    });
  }
}

TEST(MpiChunks, messages_of_programs_and_collectives_do_not_mix) {
  on_mpi(4, [](const Comm& world) {
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    const Numbers mine(20, world.rank());
    Numbers theirs(20);
    Request receiving = world.start_recv(theirs, previous);
    check_gather(world, even_parts(world.size(), 20));
    world.start_send(mine, next).wait();
    receiving.wait();
    EXPECT_EQ(theirs, Numbers(20, previous));
  });
}

TEST(MpiChunks, send_and_recv) {
  on_mpi(7, [](const Comm& world) {
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    for (const index_t count : counts_around_chunks) {
      const Numbers mine = values(world.rank(), count);
      Numbers theirs(mine.size());
      world.sendrecv(mine, next, theirs, previous);
      EXPECT_EQ(theirs, values(previous, count));
    }
  });
}

TEST(MpiRequests, many_are_in_progress_and_complete_in_any_order) {
  on_mpi(std::numeric_limits<int>::max(), [](const Comm& world) {
    std::vector<Numbers> data;
    std::vector<Request> requests;
    for (index_t i = 0; i < 20; ++i) data.push_back(values(world.rank(), i));
    for (Numbers& each : data) requests.push_back(world.start_allreduce(each, each));
    for (std::size_t i = requests.size(); i-- > 0;) {
      if (i % 2 == 0) {
        requests[i].wait();
      } else {
        while (!requests[i].test()) {
        }
      }
      EXPECT_EQ(data[i], sums(world.size(), static_cast<index_t>(i)));
    }
  });
}

TEST(MpiRequests, that_fail_to_allocate_send_nothing) {
  if (!weft::test::replaces_operator_new) GTEST_SKIP() << "sanitizers replace operator new";
  on_mpi(7, [](const Comm& world) {
    const int next = (world.rank() + 1) % world.size();
    const int previous = (world.rank() + world.size() - 1) % world.size();
    const Comm comm = world.dup();  // without memory of earlier calls
    const Numbers wrong(50, -1);
    const Numbers mine = values(world.rank(), 50);
    Numbers theirs(50);
    // Allocates all that messages of one chunk need.
    comm.sendrecv(std::span(mine).first(1), next, std::span(theirs).first(1), previous);
    bool failed = false;
    weft::test::set_allocation_hook([] { throw std::bad_alloc(); });
    try {
      comm.start_send(wrong, next).wait();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    weft::test::set_allocation_hook(nullptr);
    EXPECT_TRUE(failed);
    comm.sendrecv(mine, next, theirs, previous);
    EXPECT_EQ(theirs, values(previous, 50));
  });
}

TEST(MpiRequests, that_receive_can_be_abandoned_and_their_memory_reused) {
  on_mpi(7, [](const Comm& world) {
    const auto transport = detail::make_mpi_world();
    Numbers data(50);
    const auto start_recv = [&] {
      return transport->recv(BufferRef(data), (world.rank() + 1) % world.size());
    };
    const detail::Ticket first = start_recv();
    transport->abandon(first);
    const detail::Ticket second = start_recv();
    transport->abandon(second);
    // The lower half of an id is the place of the call in memory.
    EXPECT_EQ(first.id & 0xffffffffU, second.id & 0xffffffffU);
    EXPECT_NE(first.id, second.id);
    EXPECT_TRUE(transport->test(second)) << "it has ended";
  });
}

TEST(MpiStaging, of_a_broadcast_reads_device_memory_on_the_root_only) {
  on_mpi(std::numeric_limits<int>::max(), [](const Comm& world) {
    for (int root = 0; root < world.size(); ++root) {
      Numbers now = values(world.rank(), 100);
      const std::size_t bytes = now.size() * sizeof(now[0]);
      Buffer<std::int64_t> data(100, Device::debug());
      copy_bytes(data.data(), data.device(), now.data(), Device::cpu(), bytes);
      const index_t before = Stream::host_waits();
      world.broadcast(data, root);
      EXPECT_EQ(Stream::host_waits() - before, world.rank() == root ? 1 : 0);
      copy_bytes(now.data(), Device::cpu(), data.data(), data.device(), bytes);
      EXPECT_EQ(now, values(root, 100));
    }
  });
}

template <class T>
void check_small_float(const Comm& world) {
  const auto reduce = [&](float mine, ReduceOp op) {
    std::vector<T> data(9, T(mine));
    world.allreduce(data, op);
    return static_cast<float>(data.back());
  };
  const auto ranks = static_cast<float>(world.size());
  const auto mine = static_cast<float>(world.rank());
  EXPECT_EQ(reduce(mine + 0.5F, ReduceOp::sum), ranks * ranks / 2);
  EXPECT_EQ(reduce(2, ReduceOp::prod), static_cast<float>(1 << world.size()));
  EXPECT_EQ(reduce(-mine, ReduceOp::min), 1 - ranks);
  EXPECT_EQ(reduce(-mine, ReduceOp::max), 0);
}

TEST(MpiTypes, small_floats_are_reduced_as_floats) {
  on_mpi(4, [](const Comm& world) {
    check_small_float<Half>(world);
    check_small_float<BFloat16>(world);
  });
}

template <class T>
void check_complex(const Comm& world) {
  std::vector<T> data(5, T(1, static_cast<typename T::value_type>(world.rank())));
  world.allreduce(data, ReduceOp::sum);
  const int ranks = world.size();
  const T sum(static_cast<typename T::value_type>(ranks),
              static_cast<typename T::value_type>(ranks * (ranks - 1) / 2));
  EXPECT_EQ(data, std::vector<T>(5, sum));
  data.assign(5, T(0, 1));
  world.allreduce(data, ReduceOp::prod);
  const T powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  EXPECT_EQ(data, std::vector<T>(5, powers[ranks % 4]));
}

TEST(MpiTypes, complex_numbers_are_added_and_multiplied) {
  on_mpi(std::numeric_limits<int>::max(), [](const Comm& world) {
    check_complex<std::complex<float>>(world);
    check_complex<std::complex<double>>(world);
  });
}

/// The error of the last rank when rank 0 sends it an unexpected number of int64.
std::string mismatch(const Comm& comm, index_t sent, index_t expected) {
  const int last = comm.size() - 1;
  const Comm own = comm.dup();  // the rest of the message must not match another receive
  std::string text;
  if (own.rank() == 0) own.send(values(0, sent), last);
  if (own.rank() == last) {
    Numbers room(static_cast<std::size_t>(expected));
    try {
      own.recv(room, 0);
    } catch (const CommError& error) {
      text = error.what();
    }
  }
  comm.barrier();
  return text;
}

TEST(MpiLengths, that_do_not_match_are_reported) {
  on_mpi(4, [](const Comm& world) {
    if (world.size() < 2) return;
    const struct {
      index_t sent;
      index_t expected;
    } cases[] = {{3, 2}, {2, 3}, {0, 1}, {3, 12}, {4, 12}, {8, 12}};
    for (const auto& [sent, expected] : cases) {
      const std::string text = mismatch(world, sent, expected);
      if (world.rank() != world.size() - 1) continue;
      const auto told = [&](const std::string& length) {
        return fmt::format("rank 0 sent {} bytes to rank {}, which was to receive {}", length,
                           world.rank(), 8 * expected);
      };
      // Not every library reports the length of a message that did not fit.
      const bool unknown = text == told(fmt::format("more than {}", 8 * expected));
      EXPECT_TRUE(text == told(std::to_string(8 * sent)) || (sent > expected && unknown)) << text;
    }
    EXPECT_EQ(mismatch(world, 3, 3), "");
  });
}

TEST(MpiLengths, are_reported_with_job_ranks) {
  on_mpi(100, [](const Comm& world) {
    if (world.size() < 2) return;
    const Comm backwards = world.split(0, -world.rank());
    const std::string text = mismatch(backwards, 1, 2);
    if (world.rank() != 0) return;
    EXPECT_EQ(text, fmt::format("rank {} sent 8 bytes to rank 0, which was to receive 16",
                                world.size() - 1));
  });
}

index_t available_gigabytes() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  index_t kilobytes = 0;
  while (info >> name) {
    if (name == "MemAvailable:" && info >> kilobytes) break;
  }
  return kilobytes >> 20;
}

constexpr index_t beyond_32_bits = (index_t{1} << 31) + 5;

std::uint8_t byte_at(index_t i) { return static_cast<std::uint8_t>(i * 7 + (i >> 13)); }

void fill(Buffer<std::uint8_t>& bytes) {
  for (index_t i = 0; i < bytes.size(); ++i) bytes.data()[i] = byte_at(i);
}

index_t wrong_bytes(const Buffer<std::uint8_t>& bytes) {
  index_t wrong = 0;
  for (index_t i = 0; i < bytes.size(); ++i) wrong += bytes.data()[i] != byte_at(i) ? 1 : 0;
  return wrong;
}

TEST(MpiLarge, messages_of_more_than_two_gigabytes_arrive) {
  std::string reason;
  on_ranks([&](const Comm& world) {
    if (world.transport() != "mpi" || world.size() != 2) {
      reason = "needs two processes of MPI";
    } else if (world.allreduce(available_gigabytes(), ReduceOp::min) < 6) {
      reason = "needs 6 GB of memory";
    } else {
      Buffer<std::uint8_t> bytes(beyond_32_bits);
      std::memset(bytes.data(), 0, static_cast<std::size_t>(bytes.size()));
      if (world.rank() == 0) {
        fill(bytes);
        world.send(bytes, 1);
      } else {
        world.recv(bytes, 0);
        EXPECT_EQ(wrong_bytes(bytes), 0);
      }
      if (world.rank() == 0) std::memset(bytes.data(), 0, static_cast<std::size_t>(bytes.size()));
      world.broadcast(bytes, 1);
      EXPECT_EQ(wrong_bytes(bytes), 0);
    }
  });
  if (!reason.empty()) GTEST_SKIP() << reason;
}

}  // namespace
