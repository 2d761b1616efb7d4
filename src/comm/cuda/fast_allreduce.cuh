#pragma once

// Allreduce by kernels that reach into the memory of other ranks: between threads of a process by
// plain pointers, between processes by CUDA IPC, over NVLink or within one GPU. One file that needs
// CUDA only, so that programs can use it without the rest of Weft.
//
// Every rank launches the same kernel with the same grid on its own stream. Blocks of the same
// index on all ranks work together, so a block waits for one block of each peer, not for a kernel:
//
//   - A rank writes flags only in the memory of its peers, and reads only its own. A flag is a
//     32-bit generation, one per block and peer, written by plain stores: remote atomics do not
//     exist on every link.
//   - The generation lives on the device and counts calls, so a captured kernel can be launched
//     again. Every call advances the generations of all blocks, also of those it does not launch:
//     all blocks of a call have the same one, whatever their number in earlier calls.
//   - Generations only grow (modulo 2^32) and are never reset: nothing can race with a reset.
//   - Start and end of a call have flags of their own. A peer may reach the end while this rank
//     still waits for others at the start; with one flag, it would overwrite what this rank waits
//     for.
//   - Polling is relaxed; one fence makes the data visible after the last flag has come.
//   - Data that is pushed alternates between two halves of a slab. A rank that writes half h again
//     has received data of all peers in the call between, so they have read the half before.
//
// Between processes, pull and two_shot need memory that all ranks have registered. A rank that
// passes other memory runs another kernel, and neither may take the signals of the other for its
// own: it would read stale addresses or stale data. So calls on registered memory start with flags
// of their own. A kernel that waits in vain for a peer looks for the other flag, now and then: if
// it has the generation of this call, the ranks do not match. This costs nothing while they do.
//
// The start signal carries a place, not an address: the number of the memory in the table of its
// owner, and an offset. Peers look it up in their copy of that table, where they have mapped it,
// and check it against the size. So a place that is wrong or outdated is an error, never an access
// to memory that is not registered; and ranks need not pass memory of the same number.
//
// All ways add in the order of the ranks, so they agree bit by bit.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace weft::fast {

inline constexpr int max_ranks = 16;
inline constexpr int max_blocks = 128;
inline constexpr int block_threads = 512;

/// The flags of one rank, in an allocation of their own that all peers have mapped. All zero before
/// the first call of any rank.
struct Signals {
  /// Peers write [block][peer]; the rank reads.
  alignas(128) std::uint32_t start[max_blocks][max_ranks];
  alignas(128) std::uint32_t end[max_blocks][max_ranks];
  /// Instead of `start`, in calls on registered memory.
  alignas(128) std::uint32_t registered_start[max_blocks][max_ranks];
  /// Where the data of peers is, sent with the start of a call: [half][block][peer]. A place in
  /// registered memory, or else an address relative to Team::bases.
  alignas(128) std::uint64_t inputs[2][max_blocks][max_ranks];
  alignas(128) std::uint64_t outputs[2][max_blocks][max_ranks];
  /// The last call, for each block. Only the rank itself uses it.
  alignas(128) std::uint32_t generation[max_blocks];
};

/// Why a kernel gave up.
enum class Status : std::uint32_t { ok, aborted, timed_out, mismatched, not_registered };

struct Mailboxes;  // fast_messages.cuh

/// Registered memory of a peer, where this rank has mapped it. No bytes: there is none.
struct RegisteredPart {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t number = 0;
};
/// The registrations that one rank may have at a time. Their index in the table is their number
/// modulo this; later registrations at an index have other numbers, so that a graph that still has
/// the place of an earlier one fails.
inline constexpr int max_registered = 1024;

/// A place in the registered memory of a rank, and how it is sent.
inline constexpr int place_offset_bits = 40;
inline constexpr std::uint32_t place_numbers = 1U << (64 - place_offset_bits);
inline constexpr std::uint64_t place_of(std::uint32_t number, std::uint64_t offset) {
  return std::uint64_t{number} << place_offset_bits | offset;
}
struct Places {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

/// What a kernel knows about its team; passed by value.
struct Team {
  int rank = 0;
  int ranks = 1;
  Signals* signals[max_ranks] = {};
  Mailboxes* mailboxes[max_ranks] = {};
  /// Mapped by all peers; two halves for ll and two for push: see slab_bytes().
  std::byte* slabs[max_ranks] = {};
  /// The largest data of one rank that ll takes, and that push takes at a time.
  std::size_t ll_bytes = 0;
  std::size_t push_bytes = 0;
  /// For pull and two_shot: where this rank has mapped the memory of each peer that holds its data.
  /// Null for ranks in one process, whose addresses are the same.
  std::byte* bases[max_ranks] = {};
  /// For pull and two_shot on registered memory, else null: the memory of all ranks,
  /// [rank][max_registered].
  const RegisteredPart* registered = nullptr;
  Places places;
  /// Instead of `places`, if they are not known before the graph is complete that has captured the
  /// call.
  const Places* captured_places = nullptr;
  /// All ranks are threads on one GPU, so their writes need not reach other devices.
  bool one_context = false;
  /// Kernels may become resident before the kernel before them has ended: see can_overlap().
  bool overlaps = false;
  /// In mapped host memory: the host sets it to end all waits; a kernel sets it when it gives up.
  volatile std::uint32_t* status = nullptr;
  std::uint64_t timeout_ns = 0;
};

/// The bytes of a slab: what all peers push, twice; ll doubles the data by its flags.
inline std::size_t slab_bytes(int ranks, std::size_t ll_bytes, std::size_t push_bytes) {
  return 2 * static_cast<std::size_t>(ranks) * (2 * ll_bytes + push_bytes);
}

namespace detail {

__device__ inline void store_relaxed(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ inline void store_release(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ inline std::uint32_t load_relaxed(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline void load_relaxed(const std::uint32_t* from, std::uint32_t* four) {
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
               : "l"(from)
               : "memory");
}
__device__ inline void fence(const Team& team) {
  if (team.one_context) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  } else {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  }
}
__device__ inline std::uint64_t now_ns() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

/// Polls until ready(); false if the host or the time limit ended the wait, or if peers_differ():
/// see the top. Checks these rarely, since the word of the host is across the bus.
template <class Ready, class PeersDiffer>
__device__ bool poll(const Team& team, Ready ready, PeersDiffer peers_differ) {
  std::uint64_t start = 0;
  for (std::uint32_t polls = 0; !ready(); ++polls) {
    if (polls % 4096 != 4095) continue;
    if (*team.status != static_cast<std::uint32_t>(Status::ok)) return false;
    if (peers_differ()) {
      *team.status = static_cast<std::uint32_t>(Status::not_registered);
      return false;
    }
    const std::uint64_t now = now_ns();
    if (start == 0) start = now;
    if (now - start > team.timeout_ns) {
      *team.status = static_cast<std::uint32_t>(Status::timed_out);
      return false;
    }
  }
  return true;
}
template <class Ready>
__device__ bool poll(const Team& team, Ready ready) {
  return poll(team, ready, [] { return false; });
}

/// A peer has set its flag of this generation. A rank has none of its own.
__device__ inline bool any_peer_in(const Team& team, const std::uint32_t* flags,
                                   std::uint32_t generation) {
#pragma unroll 1
  for (int peer = 0; peer < team.ranks; ++peer) {
    if (load_relaxed(flags + peer) == generation) return true;
  }
  return false;
}

__device__ inline std::uint32_t next_generation(std::uint32_t generation) {
  // Slabs are zero at first, so 0 is none; and halves alternate.
  return generation == 0xffffffffU ? 2 : generation + 1;
}

/// Lets the next kernel of the stream become resident, if it was launched to overlap this one, and
/// waits until the kernel before it on the stream is complete. Before any access to memory.
__device__ inline void overlap_launches() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// The generation of this call, the same in all blocks. Call it at the begin, on all threads.
__device__ inline std::uint32_t begin_call(const Team& team) {
  return next_generation(team.signals[team.rank]->generation[blockIdx.x]);
}

/// Call it at the end of the kernel, on all threads.
__device__ inline void end_call(const Team& team, std::uint32_t generation) {
  __syncthreads();
  std::uint32_t* all = team.signals[team.rank]->generation;
  if (threadIdx.x == 0) all[blockIdx.x] = generation;
  if (blockIdx.x == 0) {
    for (int block = static_cast<int>(gridDim.x + threadIdx.x); block < max_blocks;
         block += static_cast<int>(blockDim.x)) {
      all[block] = generation;
    }
  }
}

/// The flags of a step, and those that peers would set if they were in a call of the other kind.
struct StartFlags {
  bool registered = false;

  __device__ auto& operator()(Signals& signals) const {
    return registered ? signals.registered_start : signals.start;
  }
  __device__ bool peers_differ(const Team& team, std::uint32_t generation) const {
    Signals& mine = *team.signals[team.rank];
    auto& other = registered ? mine.start : mine.registered_start;
    return any_peer_in(team, other[blockIdx.x], generation);
  }
};
struct EndFlags {
  __device__ auto& operator()(Signals& signals) const { return signals.end; }
  __device__ bool peers_differ(const Team&, std::uint32_t) const { return false; }
};

/// Waits for the blocks of this index on all peers. What they wrote before is visible afterwards.
/// False on all threads if the wait was ended.
template <class Flags>
__device__ bool meet(const Team& team, Flags flags, std::uint32_t generation) {
  __syncthreads();  // all threads have written before one of them tells
  bool met = true;
  // One thread for all peers: fences of several threads would wait for each other.
  if (threadIdx.x == 0) {
    fence(team);
    for (int step = 1; step < team.ranks; ++step) {
      const int peer = (team.rank + step) % team.ranks;
      store_relaxed(&flags(*team.signals[peer])[blockIdx.x][team.rank], generation);
    }
    const std::uint32_t* mine = flags(*team.signals[team.rank])[blockIdx.x];
    const auto all_have_come = [&] {
      std::uint32_t flag[max_ranks];
#pragma unroll
      for (int peer = 0; peer < max_ranks; peer += 4) {
        if (peer < team.ranks) load_relaxed(mine + peer, flag + peer);
      }
      bool all = true;
#pragma unroll
      for (int peer = 0; peer < max_ranks; ++peer) {
        if (peer >= team.ranks || peer == team.rank) continue;
        // The peer may already be in the next step, but not further. Not an inequality: flags that
        // were not used for 2^31 generations would look as if they were ahead.
        all = all && (flag[peer] == generation || flag[peer] == next_generation(generation));
      }
      return all;
    };
    met = poll(team, all_have_come, [&] { return flags.peers_differ(team, generation); });
    fence(team);
  }
  return __syncthreads_and(met ? 1 : 0) != 0;
}

}  // namespace detail

/// The type in which elements are combined: 16-bit floats as floats, rounded once.
template <class T>
struct WideType {
  using Type = T;
};
template <>
struct WideType<__half> {
  using Type = float;
};
template <>
struct WideType<__nv_bfloat16> {
  using Type = float;
};
template <class T>
using Wide = typename WideType<T>::Type;

/// As many elements as one 16-byte access moves.
template <class T>
struct alignas(16) Pack {
  static constexpr int size = 16 / static_cast<int>(sizeof(T));
  T at[size];
};

/// Element i of the data, in packs: the last pack may be incomplete, and the data may begin
/// anywhere. One 16-byte access where that is possible.
template <class T>
class Packs {
 public:
  __device__ Packs(T* first, std::size_t count)
      : first_(first),
        count_(count),
        aligned_(reinterpret_cast<std::uintptr_t>(first) % sizeof(Pack<T>) == 0) {}

  __device__ Pack<T> load(std::size_t pack) const {
    const std::size_t begin = pack * Pack<T>::size;
    if (aligned_ && begin + Pack<T>::size <= count_) {
      return *reinterpret_cast<const Pack<T>*>(first_ + begin);
    }
    Pack<T> value = {};
    for (int i = 0; i < Pack<T>::size && begin + i < count_; ++i) value.at[i] = first_[begin + i];
    return value;
  }
  __device__ void store(std::size_t pack, const Pack<T>& value) const {
    const std::size_t begin = pack * Pack<T>::size;
    if (aligned_ && begin + Pack<T>::size <= count_) {
      *reinterpret_cast<Pack<T>*>(first_ + begin) = value;
      return;
    }
    for (int i = 0; i < Pack<T>::size && begin + i < count_; ++i) first_[begin + i] = value.at[i];
  }

 private:
  T* first_;
  std::size_t count_;
  bool aligned_;
};

template <class T>
__host__ __device__ std::size_t pack_count(std::size_t elements) {
  return (elements + Pack<T>::size - 1) / Pack<T>::size;
}

struct Sum {
  /// Kernels for the common numbers of ranks, besides those for any number.
  static constexpr bool unrolls_ranks = true;

  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
  /// Applied to the rounded result, before it is stored: see fast_epilogues.cuh.
  template <class T>
  __device__ T finish(T sum) const {
    return sum;
  }
};

/// The op over `ranks` packs, read by read(rank), in order, and its finish.
template <class T, int Ranks, class Op, class Read>
__device__ Pack<T> combine(int ranks, Op op, Read read) {
  if constexpr (Ranks > 0) ranks = Ranks;
  Pack<T> packs[Ranks > 0 ? Ranks : 1];
  if constexpr (Ranks > 0) {  // all loads before the first use
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) packs[rank] = read(rank);
  }
  Wide<T> value[Pack<T>::size];
#pragma unroll
  for (int i = 0; i < Pack<T>::size; ++i) value[i] = Wide<T>{};
#pragma unroll
  for (int rank = 0; rank < (Ranks > 0 ? Ranks : ranks); ++rank) {
    const Pack<T> pack = Ranks > 0 ? packs[Ranks > 0 ? rank : 0] : read(rank);
#pragma unroll
    for (int i = 0; i < Pack<T>::size; ++i) {
      const auto next = static_cast<Wide<T>>(pack.at[i]);
      value[i] = rank == 0 ? next : op(value[i], next);
    }
  }
  Pack<T> result;
#pragma unroll
  for (int i = 0; i < Pack<T>::size; ++i) result.at[i] = op.finish(static_cast<T>(value[i]));
  return result;
}

// The kernels. `in` and `out` may begin anywhere; elsewhere than at multiples of 16 bytes they take
// longer.

/// A pack as it travels: every 4 bytes beside the generation. A vector access may be torn, but not
/// within its 8-byte elements, so data and flag arrive together.
struct Line {
  std::uint64_t at[4];

  __device__ void store(std::uint64_t* to) const {
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(at[0]), "l"(at[1])
                 : "memory");
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to + 2), "l"(at[2]),
                 "l"(at[3])
                 : "memory");
  }
  __device__ void load(const std::uint64_t* from) {
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(at[0]), "=l"(at[1])
                 : "l"(from)
                 : "memory");
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(at[2]), "=l"(at[3])
                 : "l"(from + 2)
                 : "memory");
  }
  __device__ bool is_complete(std::uint32_t generation) const {
    bool come = true;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      come = come && static_cast<std::uint32_t>(at[i] >> 32) == generation;
    return come;
  }
};
template <class T>
__device__ Line line_of(const Pack<T>& pack, std::uint32_t generation) {
  std::uint32_t words[4];
  memcpy(words, &pack, sizeof(words));
  Line line;
#pragma unroll
  for (int i = 0; i < 4; ++i) line.at[i] = std::uint64_t{generation} << 32 | words[i];
  return line;
}
template <class T>
__device__ Pack<T> pack_of(const Line& line) {
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = static_cast<std::uint32_t>(line.at[i]);
  Pack<T> pack;
  memcpy(&pack, words, sizeof(words));
  return pack;
}

/// Data travels with its flags: one way to the peers, no barrier. For small data.
template <class T, int Ranks, class Op>
__global__ void __launch_bounds__(block_threads)
    ll_kernel(Team team, T* in, T* out, std::size_t count, Op op) {
  detail::overlap_launches();
  const std::size_t packs = pack_count<T>(count);
  const int ranks = Ranks > 0 ? Ranks : team.ranks;
  const std::uint32_t generation = detail::begin_call(team);
  const std::size_t half = (generation & 1) * static_cast<std::size_t>(ranks) * 2 * team.ll_bytes;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const auto slot = [&](int owner, int from, std::size_t pack) {
    return reinterpret_cast<std::uint64_t*>(team.slabs[owner] + half +
                                            static_cast<std::size_t>(from) * 2 * team.ll_bytes) +
           4 * pack;
  };
  // Peers with registered memory do not come: see the top.
  const auto peers_differ = [&] { return detail::StartFlags{}.peers_differ(team, generation); };
  const Packs<T> source(in, count);
  const Packs<T> result(out, count);
  bool met = true;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < packs && met; i += stride) {
    const Pack<T> mine = source.load(i);
    const Line sent = line_of(mine, generation);
    for (int step = 1; step < ranks; ++step) {
      sent.store(slot((team.rank + step) % ranks, team.rank, i));
    }
    // A read takes longer than all that follows, so those of all ranks are made at once.
    Line lines[Ranks > 0 ? Ranks : 1];
    if constexpr (Ranks > 0) {
      const auto all_have_come = [&] {
#pragma unroll
        for (int rank = 0; rank < Ranks; ++rank) lines[rank].load(slot(team.rank, rank, i));
        bool come = true;
#pragma unroll
        for (int rank = 0; rank < Ranks; ++rank) {
          come = come && (rank == team.rank || lines[rank].is_complete(generation));
        }
        return come;
      };
      met = detail::poll(team, all_have_come, peers_differ);
    }
    const Pack<T> sum = combine<T, Ranks>(ranks, op, [&](int rank) {
      if (rank == team.rank) return mine;
      if constexpr (Ranks == 0) {
        const auto has_come = [&] {
          lines[0].load(slot(team.rank, rank, i));
          return lines[0].is_complete(generation);
        };
        met = met && detail::poll(team, has_come, peers_differ);
      }
      return pack_of<T>(lines[Ranks > 0 ? rank : 0]);
    });
    result.store(i, sum);
  }
  detail::end_call(team, generation);
}

/// The half of a rank's slab in which this generation is pushed.
template <class T>
__device__ Pack<T>* push_half(const Team& team, int owner, std::uint32_t generation) {
  const auto ranks = static_cast<std::size_t>(team.ranks);
  return reinterpret_cast<Pack<T>*>(team.slabs[owner] + 4 * ranks * team.ll_bytes +
                                    (generation & 1) * ranks * team.push_bytes);
}

/// Every rank copies its data to all peers, and adds what it has received; large data in chunks.
/// Needs no access to the memory of the caller from other ranks.
template <class T, int Ranks, class Op>
__global__ void __launch_bounds__(block_threads)
    push_kernel(Team team, T* in, T* out, std::size_t count, Op op) {
  const std::size_t packs = pack_count<T>(count);
  const std::size_t chunk = team.push_bytes / sizeof(Pack<T>);
  const int ranks = Ranks > 0 ? Ranks : team.ranks;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const Packs<T> source(in, count);
  const Packs<T> result(out, count);
  std::uint32_t generation = detail::begin_call(team);
  for (std::size_t first = 0; first < packs; first += chunk) {
    if (first > 0) generation = detail::next_generation(generation);
    const std::size_t end = packs - first < chunk ? packs : first + chunk;
    const std::size_t begin = first + blockIdx.x * blockDim.x + threadIdx.x;
    const auto row = [&](int owner, int from) {
      return push_half<T>(team, owner, generation) + static_cast<std::size_t>(from) * chunk;
    };
    for (std::size_t i = begin; i < end; i += stride) {
      const Pack<T> mine = source.load(i);
      for (int step = 1; step < ranks; ++step) {
        row((team.rank + step) % ranks, team.rank)[i - first] = mine;
      }
    }
    if (!detail::meet(team, detail::StartFlags{}, generation)) break;
    for (std::size_t i = begin; i < end; i += stride) {
      const Pack<T> sum = combine<T, Ranks>(ranks, op, [&](int rank) {
        return rank == team.rank ? source.load(i) : row(team.rank, rank)[i - first];
      });
      result.store(i, sum);
    }
  }
  detail::end_call(team, generation);
}

/// Every rank reduces one slice of each chunk: peers copy it to the owner's slab, and the owner
/// copies the sum to the slabs of all. Moves less than push among many ranks. Needs no access to
/// the memory of the caller from other ranks.
template <class T, int Ranks, class Op>
__global__ void __launch_bounds__(block_threads)
    relay_kernel(Team team, T* in, T* out, std::size_t count, Op op) {
  const std::size_t packs = pack_count<T>(count);
  const int ranks = Ranks > 0 ? Ranks : team.ranks;
  const auto team_size = static_cast<std::size_t>(ranks);
  // Half of a half for what peers send, half for the sums.
  const std::size_t room = team_size * team.push_bytes / sizeof(Pack<T>) / 2;
  const std::size_t slice = room / team_size;
  const std::size_t chunk = slice * team_size;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t begin = blockIdx.x * blockDim.x + threadIdx.x;
  const Packs<T> source(in, count);
  const Packs<T> result(out, count);
  std::uint32_t generation = detail::begin_call(team);
  for (std::size_t first = 0; first < packs; first += chunk) {
    if (first > 0) generation = detail::next_generation(generation);
    const std::size_t left = packs - first < chunk ? packs - first : chunk;
    const std::size_t each = (left + team_size - 1) / team_size;
    const auto offset = [&](int rank) { return static_cast<std::size_t>(rank) * each; };
    // The packs of a rank's slice; none for the last ranks of a short chunk.
    const auto packs_of = [&](int rank) {
      if (offset(rank) >= left) return std::size_t{0};
      return left - offset(rank) < each ? left - offset(rank) : each;
    };
    const auto row = [&](int owner, int from) {
      return push_half<T>(team, owner, generation) + static_cast<std::size_t>(from) * slice;
    };
    // At fixed places, as the rows: blocks of other indices may still read the chunk before the
    // last.
    const auto sums = [&](int at, int owner) {
      return push_half<T>(team, at, generation) + room + static_cast<std::size_t>(owner) * slice;
    };

    for (int step = 1; step < ranks; ++step) {
      const int owner = (team.rank + step) % ranks;
      const std::size_t end = packs_of(owner);
      for (std::size_t i = begin; i < end; i += stride) {
        row(owner, team.rank)[i] = source.load(first + offset(owner) + i);
      }
    }
    if (!detail::meet(team, detail::StartFlags{}, generation)) break;
    const std::size_t mine = first + offset(team.rank);
    const std::size_t mine_end = packs_of(team.rank);
    for (std::size_t i = begin; i < mine_end; i += stride) {
      const Pack<T> sum = combine<T, Ranks>(ranks, op, [&](int rank) {
        return rank == team.rank ? source.load(mine + i) : row(team.rank, rank)[i];
      });
      for (int step = 1; step < ranks; ++step) {
        sums((team.rank + step) % ranks, team.rank)[i] = sum;
      }
      result.store(mine + i, sum);
    }
    if (!detail::meet(team, detail::EndFlags{}, generation)) break;
    for (int step = 1; step < ranks; ++step) {
      const int owner = (team.rank + step) % ranks;
      const std::size_t end = packs_of(owner);
      for (std::size_t i = begin; i < end; i += stride) {
        result.store(first + offset(owner) + i, sums(team.rank, owner)[i]);
      }
    }
  }
  detail::end_call(team, generation);
}

/// Sends where this rank's data is, and waits until all peers have done so.
__device__ inline bool exchange_places(const Team& team, std::uint32_t generation, const void* in,
                                       const void* out) {
  const bool registered = team.registered != nullptr;
  if (threadIdx.x < team.ranks) {
    const auto offset = [&](const void* address) {
      return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) -
                                        team.bases[team.rank]);
    };
    const Places mine = !registered                       ? Places{offset(in), offset(out)}
                        : team.captured_places != nullptr ? *team.captured_places
                                                          : team.places;
    Signals& peer = *team.signals[threadIdx.x];
    peer.inputs[generation & 1][blockIdx.x][team.rank] = mine.in;
    peer.outputs[generation & 1][blockIdx.x][team.rank] = mine.out;
  }
  return detail::meet(team, detail::StartFlags{registered}, generation);
}

/// The address of a place in the memory of a rank; null if there are no `bytes` bytes.
template <class T>
__device__ T* address_of(const Team& team, int rank, std::uint64_t place, std::size_t bytes) {
  if (team.registered == nullptr) return reinterpret_cast<T*>(team.bases[rank] + place);
  const std::uint64_t number = place >> place_offset_bits;
  const std::uint64_t offset = place & ((std::uint64_t{1} << place_offset_bits) - 1);
  const RegisteredPart memory = team.registered[rank * max_registered + number % max_registered];
  if (number != memory.number || offset > memory.bytes || bytes > memory.bytes - offset)
    return nullptr;
  return reinterpret_cast<T*>(memory.data + offset);
}

/// Where the data of all ranks is, in the call that has exchanged places.
template <class T, int Ranks>
struct Addresses {
  T* in[Ranks > 0 ? Ranks : max_ranks];
  T* out[Ranks > 0 ? Ranks : max_ranks];

  /// False, and an error, if some rank has no such memory.
  __device__ bool find(const Team& team, std::uint32_t generation, std::size_t count) {
    const int ranks = Ranks > 0 ? Ranks : team.ranks;
    const Signals& mine = *team.signals[team.rank];
    const std::size_t bytes = count * sizeof(T);
    bool found = true;
#pragma unroll
    for (int rank = 0; rank < ranks; ++rank) {
      in[rank] = address_of<T>(team, rank, mine.inputs[generation & 1][blockIdx.x][rank], bytes);
      out[rank] = address_of<T>(team, rank, mine.outputs[generation & 1][blockIdx.x][rank], bytes);
      found = found && in[rank] != nullptr && out[rank] != nullptr;
    }
    if (!found) *team.status = static_cast<std::uint32_t>(Status::not_registered);
    return found;
  }
};

/// Every rank reads the data of all others where it is. `in` and `out` must not overlap on any
/// rank.
template <class T, int Ranks, class Op>
__global__ void __launch_bounds__(block_threads)
    pull_kernel(Team team, T* in, T* out, std::size_t count, Op op) {
  const std::size_t packs = pack_count<T>(count);
  const int ranks = Ranks > 0 ? Ranks : team.ranks;
  const std::uint32_t generation = detail::begin_call(team);
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  Addresses<T, Ranks> at;
  if (exchange_places(team, generation, in, out) && at.find(team, generation, count)) {
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += stride) {
      const Pack<T> sum = combine<T, Ranks>(
          ranks, op, [&](int rank) { return Packs<T>(at.in[rank], count).load(i); });
      Packs<T>(out, count).store(i, sum);
    }
    // Nobody changes data that others still read.
    detail::meet(team, detail::EndFlags{}, generation);
  }
  detail::end_call(team, generation);
}

/// Every rank reduces one slice of the data of all, and stores it to all. In place or not.
template <class T, int Ranks, class Op>
__global__ void __launch_bounds__(block_threads)
    two_shot_kernel(Team team, T* in, T* out, std::size_t count, Op op) {
  const std::size_t packs = pack_count<T>(count);
  const int ranks = Ranks > 0 ? Ranks : team.ranks;
  const std::uint32_t generation = detail::begin_call(team);
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  Addresses<T, Ranks> at;
  if (exchange_places(team, generation, in, out) && at.find(team, generation, count)) {
    // Slices differ by one pack at most.
    const auto bound = [&](int rank) { return packs * static_cast<std::size_t>(rank) / ranks; };
    const std::size_t end = bound(team.rank + 1);
    for (std::size_t i = bound(team.rank) + blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += stride) {
      const Pack<T> sum = combine<T, Ranks>(
          ranks, op, [&](int rank) { return Packs<T>(at.in[rank], count).load(i); });
#pragma unroll
      for (int rank = 0; rank < ranks; ++rank) Packs<T>(at.out[rank], count).store(i, sum);
    }
    // The result is complete when all ranks have stored their slices.
    detail::meet(team, detail::EndFlags{}, generation);
  }
  detail::end_call(team, generation);
}

enum class Algorithm { ll, push, relay, pull, two_shot };

/// The blocks of a call: the same on all ranks, and few enough that the kernels of all ranks that
/// share a GPU are resident at once, or they would wait for kernels that cannot start.
inline int blocks_for(std::size_t packs, int resident_blocks) {
  const auto wanted = static_cast<int>((packs + block_threads - 1) / block_threads);
  int blocks = wanted < 1 ? 1 : wanted;
  if (blocks > max_blocks) blocks = max_blocks;
  return blocks > resident_blocks ? resident_blocks : blocks;
}

namespace detail {

template <class T, int Ranks, class Op>
auto kernel_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ll: return &ll_kernel<T, Ranks, Op>;
    case Algorithm::push: return &push_kernel<T, Ranks, Op>;
    case Algorithm::relay: return &relay_kernel<T, Ranks, Op>;
    case Algorithm::pull: return &pull_kernel<T, Ranks, Op>;
    case Algorithm::two_shot: break;
  }
  return &two_shot_kernel<T, Ranks, Op>;
}

template <class T, class Op>
auto kernel_of(Algorithm algorithm, int ranks) {
  if constexpr (Op::unrolls_ranks) {
    switch (ranks) {
      case 2: return kernel_of<T, 2, Op>(algorithm);
      case 4: return kernel_of<T, 4, Op>(algorithm);
      case 8: return kernel_of<T, 8, Op>(algorithm);
      default: break;
    }
  }
  return kernel_of<T, 0, Op>(algorithm);
}

}  // namespace detail

/// How many blocks of a kernel fit the current GPU, if `sharing` ranks share it. A quarter of the
/// GPU stays free for other work.
template <class Kernel>
cudaError_t resident_blocks_of(Kernel kernel, int sharing, int& blocks) {
  int device = 0;
  int processors = 0;
  int per_processor = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel, block_threads, 0);
  }
  blocks = processors * per_processor * 3 / 4 / sharing;
  if (blocks < 1) blocks = 1;
  return error;
}
template <class T, class Op>
cudaError_t resident_blocks(Algorithm algorithm, int ranks, int sharing, int& blocks) {
  return resident_blocks_of(detail::kernel_of<T, Op>(algorithm, ranks), sharing, blocks);
}

namespace detail {

/// Launches a kernel that calls overlap_launches(): it becomes resident before the kernel that
/// precedes it on the stream has ended, which hides the time of a launch. For few blocks: they
/// occupy the GPU besides those of the kernel before. Only if can_overlap().
template <class... Parameters, class... Arguments>
cudaError_t launch_overlapping(void (*kernel)(Parameters...), int blocks, cudaStream_t stream,
                               Arguments... arguments) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(block_threads);
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace detail

/// Whether the kernels for the current GPU were compiled with overlap_launches(). Others, also
/// those compiled for an older GPU and translated for this one, would not wait for the kernel
/// before.
inline cudaError_t can_overlap(bool& can) {
  cudaFuncAttributes attributes = {};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, ll_kernel<float, 0, Sum>);
  can = error == cudaSuccess && attributes.ptxVersion >= 90;
  return error;
}

/// Launches an allreduce of `count` elements. Not complete when it returns; errors of the wait are
/// in team.status. `in` is only read, unless it is `out`.
template <class T, class Op>
cudaError_t allreduce(Algorithm algorithm, const Team& team, const T* in, T* out, std::size_t count,
                      int blocks, cudaStream_t stream, Op op = {}) {
  auto* kernel = detail::kernel_of<T, Op>(algorithm, team.ranks);
  if (algorithm == Algorithm::ll && team.overlaps) {
    return detail::launch_overlapping(kernel, blocks, stream, team, const_cast<T*>(in), out, count,
                                      op);
  }
  kernel<<<blocks, block_threads, 0, stream>>>(team, const_cast<T*>(in), out, count, op);
  return cudaGetLastError();
}

}  // namespace weft::fast
