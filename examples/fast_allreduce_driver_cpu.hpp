#pragma once

// The driver without a GPU: compares a one-shot allreduce in shared memory with MPI_Allreduce, bit
// by bit and in time. Ranks are processes of one host.
//
// Every rank copies its data into one half of its slab, publishes a generation, waits for the
// generations of all others, and adds the slabs in the order of the ranks:
//
//   - A rank writes only its own area and reads all others. Its flag is a 32-bit generation on a
//     cache line of its own, stored after the data (release) and loaded before it (acquire).
//   - Generations only grow (modulo 2^32). A peer can be one ahead: it may have begun the next step
//     before this rank looks.
//   - Two halves are enough, without a wait at the end: whoever writes step g + 2 has seen all
//     ranks in step g + 1, which they began after they had read the data of step g.

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace driver_cpu {

constexpr std::size_t slab_bytes = 256 << 10;
constexpr std::size_t largest = 64 << 20;

/// What one rank writes and all ranks read.
struct Area {
  alignas(128) std::uint32_t generation;
  alignas(4096) std::byte slabs[2][slab_bytes];
  alignas(4096) std::byte input[largest];
};

/// One shared buffer with the areas of all ranks.
class SharedAreas {
 public:
  explicit SharedAreas(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    const std::size_t all = static_cast<std::size_t>(ranks_) * sizeof(Area) + alignof(Area);
    void* address = nullptr;
    MPI_Win_allocate_shared(rank_ == 0 ? static_cast<MPI_Aint>(all) : 0, 1, MPI_INFO_NULL, comm,
                            &address, &window_);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &bytes, &unit, &address);
    // Processes map whole pages, so that all of them skip the same bytes.
    const auto skipped = -reinterpret_cast<std::uintptr_t>(address) % alignof(Area);
    areas_ = reinterpret_cast<Area*>(static_cast<std::byte*>(address) + skipped);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    // Zero before any rank begins: a flag that comes earlier would be lost.
    std::memset(static_cast<void*>(&areas_[rank_]), 0, sizeof(Area));
    MPI_Win_sync(window_);
    MPI_Barrier(comm);
    MPI_Win_sync(window_);
  }
  ~SharedAreas() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  SharedAreas(const SharedAreas&) = delete;
  SharedAreas& operator=(const SharedAreas&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  Area& area(int rank) const { return areas_[rank]; }

 private:
  int rank_ = 0;
  int ranks_ = 1;
  MPI_Win window_ = MPI_WIN_NULL;
  Area* areas_ = nullptr;
};

/// All ranks make the same calls in the same order.
class OneShot {
 public:
  explicit OneShot(const SharedAreas& shared)
      : shared_(shared), slabs_(static_cast<std::size_t>(shared.ranks())) {}

  template <class T>
  void allreduce(const T* in, T* out, std::size_t count) {
    constexpr std::size_t most = slab_bytes / sizeof(T);
    for (std::size_t first = 0; first < count; first += most) {
      step(in + first, out + first, std::min(most, count - first));
    }
  }

 private:
  template <class T>
  void step(const T* in, T* out, std::size_t count) {
    ++generation_;
    const std::size_t half = generation_ % 2;
    Area& mine = shared_.area(shared_.rank());
    std::memcpy(mine.slabs[half], in, count * sizeof(T));
    std::atomic_ref(mine.generation).store(generation_, std::memory_order_release);
    for (int peer = 0; peer < shared_.ranks(); ++peer) {
      wait_for(shared_.area(peer));
      slabs_[static_cast<std::size_t>(peer)] = shared_.area(peer).slabs[half];
    }
    add(out, count);
  }

  void wait_for(Area& peer) const {
    constexpr int spins = 2000;
    const std::atomic_ref flag(peer.generation);
    const auto is_behind = [&] {
      return static_cast<std::int32_t>(flag.load(std::memory_order_acquire) - generation_) < 0;
    };
    for (int tries = 0; is_behind(); ++tries) {
      if (tries > spins) std::this_thread::yield();
    }
  }

  /// out = slab 0 + slab 1 + ..., in this order for every element, in blocks that fit the L1 cache.
  template <class T>
  void add(T* out, std::size_t count) const {
    constexpr std::size_t block = 1024;
    for (std::size_t first = 0; first < count; first += block) {
      const std::size_t end = std::min(count, first + block);
      const T* const a = reinterpret_cast<const T*>(slabs_.front());
      if (slabs_.size() == 1) std::copy(a + first, a + end, out + first);
      for (std::size_t peer = 1; peer < slabs_.size(); ++peer) {
        const T* const left = peer == 1 ? a : out;
        const T* const right = reinterpret_cast<const T*>(slabs_[peer]);
        for (std::size_t i = first; i < end; ++i) out[i] = left[i] + right[i];
      }
    }
  }

  const SharedAreas& shared_;
  std::uint32_t generation_ = 0;
  std::vector<const std::byte*> slabs_;
};

/// Memory that begins at a page. Where inputs do and outputs do not, copies between them can be
/// several times slower.
template <class T>
class Pages {
 public:
  explicit Pages(std::size_t bytes) : pages_((bytes + sizeof(Page) - 1) / sizeof(Page)) {}
  T* data() { return reinterpret_cast<T*>(pages_.data()); }

 private:
  struct alignas(4096) Page {
    std::byte bytes[4096];
  };
  std::vector<Page> pages_;
};

/// Microseconds per call. The largest over the ranks.
template <class Run>
double time_of(int calls, Run run) {
  for (int i = 0; i < 3; ++i) run();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) run();
  double mine = 1e6 * (MPI_Wtime() - begin) / calls;
  double worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

/// Prints the table of one type. Returns the number of wrong results of this rank.
template <class T>
int compare(const SharedAreas& shared, OneShot& one_shot, MPI_Datatype type, const char* name) {
  constexpr int rounds = 3;  // MPI and one_shot in turn; the best of each counts
  T* const in = reinterpret_cast<T*>(shared.area(shared.rank()).input);
  Pages<T> copy(largest);
  Pages<T> expected(largest);
  Pages<T> ours(largest);
  int wrong = 0;
  if (shared.rank() == 0) {
    std::printf("%s, us per call\n%12s%12s%12s\n", name, "bytes", "MPI", "one_shot");
  }
  for (std::size_t bytes = 512; bytes <= largest; bytes *= 4) {
    // Not divisible by the number of ranks, nor by the width of an access.
    const std::size_t count = bytes / sizeof(T) + (bytes < largest ? 7 : 0);
    // Whole numbers up to 15, as in the GPU run: their sums are exact in any order.
    for (std::size_t i = 0; i < count; ++i) {
      const auto step = 5U * static_cast<unsigned>(shared.rank());
      in[i] = static_cast<T>(((i * 2654435761U >> 7) + step) & 15U);
    }
    std::copy_n(in, count, copy.data());
    std::memset(static_cast<void*>(ours.data()), 0xff, count * sizeof(T));
    const int calls = bytes <= 1 << 20 ? 200 : 5;
    double theirs_us = std::numeric_limits<double>::infinity();
    double ours_us = theirs_us;
    for (int round = 0; round < rounds; ++round) {
      theirs_us = std::min(theirs_us, time_of(calls, [&] {
                             MPI_Allreduce(copy.data(), expected.data(), static_cast<int>(count),
                                           type, MPI_SUM, MPI_COMM_WORLD);
                           }));
      ours_us =
          std::min(ours_us, time_of(calls, [&] { one_shot.allreduce(in, ours.data(), count); }));
    }
    const bool same = std::memcmp(ours.data(), expected.data(), count * sizeof(T)) == 0;
    if (!same) ++wrong;
    if (shared.rank() == 0) {
      std::printf(same ? "%12zu%12.2f%12.2f\n" : "%12zu%12.2f%7.2f WRONG\n", count * sizeof(T),
                  theirs_us, ours_us);
    }
  }
  return wrong;
}

/// The whole run; returns the exit code. MPI has been initialised.
inline int run() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank = 0;
  int ranks = 0;
  int ranks_on_host = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_size(host, &ranks_on_host);
  int wrong = 0;
  if (ranks_on_host == ranks) {
    if (rank == 0) std::printf("%d ranks on one host, without GPUs\n", ranks);
    const SharedAreas shared(host);
    OneShot one_shot(shared);
    wrong = compare<float>(shared, one_shot, MPI_FLOAT, "float");
    wrong += compare<double>(shared, one_shot, MPI_DOUBLE, "double");
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%d wrong\n", wrong);
  } else if (rank == 0) {
    std::fprintf(stderr, "--cpu needs all ranks on one host\n");
  }
  MPI_Comm_free(&host);
  return ranks_on_host == ranks && wrong == 0 ? 0 : 1;
}

}  // namespace driver_cpu
