#pragma once

// Messages between ranks whose kernels can read each other's memory: see fast_allreduce.cuh for the
// rules of signals. The sender posts the address of a message; the receiver copies it and tells the
// sender. Posting, receiving, and waiting until messages are taken are kernels on streams of their
// own, so that none of them holds back the others.

#include "comm/cuda/fast_allreduce.cuh"

namespace weft::fast {

/// The messages between two ranks that may be posted and not yet taken.
inline constexpr int message_depth = 64;
/// The messages of one kernel; they must fit its arguments.
inline constexpr int max_messages = 96;

/// The flags of the messages of one rank, beside its Signals. All zero before the first message.
struct Mailboxes {
  /// Written by the sender, for each of its latest messages: its number, address and size.
  alignas(128) std::uint32_t posted[max_ranks][message_depth];
  alignas(128) std::uint64_t addresses[max_ranks][message_depth];
  alignas(128) std::uint64_t sizes[max_ranks][message_depth];
  /// Written by the receiver: the numbers of this rank's messages that it has copied.
  alignas(128) std::uint32_t taken[max_ranks][message_depth];
  /// Only the rank itself uses these: the messages posted to each peer, those known to be taken,
  /// and those received; the blocks that have ended in a kernel that receives, and those that have
  /// copied their part of each message.
  alignas(128) std::uint32_t sent[max_ranks];
  alignas(128) std::uint32_t acknowledged[max_ranks];
  alignas(128) std::uint32_t received[max_ranks];
  std::uint32_t ended_blocks;
  std::uint32_t copied[max_messages];
};

struct Message {
  std::byte* data;
  std::uint64_t bytes;
  std::int16_t peer;
  /// Its place among the messages of this kernel between the same ranks in the same direction.
  std::int16_t order;
  /// The blocks that copy a received message.
  std::uint16_t first_block;
  std::uint16_t blocks;
};

/// The messages of one kernel.
struct Batch {
  int messages = 0;
  Message message[max_messages];
};

namespace detail {

__device__ inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                  int block, int blocks) {
  const std::uint64_t first = static_cast<std::uint64_t>(block) * blockDim.x + threadIdx.x;
  const std::uint64_t stride = static_cast<std::uint64_t>(blocks) * blockDim.x;
  const auto misaligned =
      (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) %
      sizeof(uint4);
  const std::uint64_t wide = misaligned == 0 ? bytes / sizeof(uint4) : 0;
  for (std::uint64_t i = first; i < wide; i += stride) {
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  }
  const std::uint64_t words = misaligned % sizeof(std::uint32_t) == 0 ? bytes / 4 : 0;
  for (std::uint64_t i = wide * 4 + first; i < words; i += stride) {
    reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
  }
  for (std::uint64_t i = words * 4 + first; i < bytes; i += stride) to[i] = from[i];
}

}  // namespace detail

/// Posts messages. One block.
__global__ void __launch_bounds__(max_messages) post_kernel(Team team, Batch batch) {
  Mailboxes& mine = *team.mailboxes[team.rank];
  const auto thread = static_cast<int>(threadIdx.x);
  const bool sends = thread < batch.messages;
  if (sends) {
    const Message& message = batch.message[thread];
    const std::uint32_t number =
        mine.sent[message.peer] + static_cast<std::uint32_t>(message.order) + 1;
    const int slot = static_cast<int>(number % message_depth);
    // The slot is free when its last message is taken; 0 at first.
    detail::poll(team, [&] {
      const std::uint32_t taken = detail::load_relaxed(&mine.taken[message.peer][slot]);
      return taken == number - message_depth || (taken == 0 && number < message_depth);
    });
    Mailboxes& theirs = *team.mailboxes[message.peer];
    theirs.addresses[team.rank][slot] =
        static_cast<std::uint64_t>(message.data - team.bases[team.rank]);
    theirs.sizes[team.rank][slot] = message.bytes;
    detail::store_release(&theirs.posted[team.rank][slot], number);
  }
  __syncthreads();
  if (sends) atomicAdd(&mine.sent[batch.message[thread].peer], 1U);
}

/// Waits until posted messages are taken. One block.
__global__ void __launch_bounds__(max_messages) taken_kernel(Team team, Batch batch) {
  Mailboxes& mine = *team.mailboxes[team.rank];
  const auto thread = static_cast<int>(threadIdx.x);
  const bool waits = thread < batch.messages;
  if (waits) {
    const Message& message = batch.message[thread];
    const std::uint32_t number =
        mine.acknowledged[message.peer] + static_cast<std::uint32_t>(message.order) + 1;
    const std::uint32_t* taken = &mine.taken[message.peer][number % message_depth];
    detail::poll(team, [&] { return detail::load_relaxed(taken) == number; });
  }
  __syncthreads();
  if (waits) atomicAdd(&mine.acknowledged[batch.message[thread].peer], 1U);
}

/// Receives messages, each with the blocks that it names.
__global__ void __launch_bounds__(block_threads) receive_kernel(Team team, Batch batch) {
  Mailboxes& mine = *team.mailboxes[team.rank];
  const auto thread = static_cast<int>(threadIdx.x);
  int which = 0;
  while (which + 1 < batch.messages && batch.message[which + 1].first_block <= blockIdx.x) ++which;
  const Message& message = batch.message[which];
  const std::uint32_t number =
      mine.received[message.peer] + static_cast<std::uint32_t>(message.order) + 1;
  const int slot = static_cast<int>(number % message_depth);
  bool met = true;
  if (thread == 0) {
    met = detail::poll(
        team, [&] { return detail::load_relaxed(&mine.posted[message.peer][slot]) == number; });
    detail::fence(team);
    if (met && mine.sizes[message.peer][slot] != message.bytes) {
      *team.status = static_cast<std::uint32_t>(Status::mismatched);
      met = false;
    }
  }
  if (__syncthreads_and(met ? 1 : 0) != 0) {
    detail::copy_bytes(message.data, team.bases[message.peer] + mine.addresses[message.peer][slot],
                       message.bytes, static_cast<int>(blockIdx.x) - message.first_block,
                       message.blocks);
    __syncthreads();
    if (thread == 0) {
      __threadfence();
      if (atomicAdd(&mine.copied[which], 1U) + 1 == message.blocks) {
        mine.copied[which] = 0;
        detail::store_release(&team.mailboxes[message.peer]->taken[team.rank][slot], number);
      }
    }
  }
  // The last block counts the messages, when no other reads the counts any more.
  __syncthreads();
  __shared__ bool last;
  if (thread == 0) {
    __threadfence();
    last = atomicAdd(&mine.ended_blocks, 1U) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!last) return;
  if (thread < batch.messages) atomicAdd(&mine.received[batch.message[thread].peer], 1U);
  if (thread == 0) mine.ended_blocks = 0;
}

}  // namespace weft::fast
