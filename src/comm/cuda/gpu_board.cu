#include "comm/gpu_board.hpp"

#include <weft/core/error.hpp>

#include "comm/cuda/fast_messages.cuh"
#include "comm/gather_objects.hpp"
#include "comm/waiter.hpp"
#include "core/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::detail {
namespace {

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) {
    throw CommError(std::string(call) + ": " + cudaGetErrorString(code));
  }
}

constexpr std::size_t ll_bytes = 32 << 10;
constexpr std::size_t push_bytes = 1 << 20;

/// Memory of all ranks of a team; the last of them frees it.
class TeamMemory {
 public:
  explicit TeamMemory(int ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        slab_bytes_(fast::slab_bytes(ranks, ll_bytes, push_bytes)) {
    // Flags have an allocation of their own: data written beyond a slab must not look like one.
    check(cudaMalloc(&signals_, ranks_ * sizeof(fast::Signals)), "cudaMalloc");
    check(cudaMalloc(&mailboxes_, ranks_ * sizeof(fast::Mailboxes)), "cudaMalloc");
    check(cudaMalloc(&slabs_, ranks_ * slab_bytes_), "cudaMalloc");
    check(cudaMemset(signals_, 0, ranks_ * sizeof(fast::Signals)), "cudaMemset");
    check(cudaMemset(mailboxes_, 0, ranks_ * sizeof(fast::Mailboxes)), "cudaMemset");
    check(cudaMemset(slabs_, 0, ranks_ * slab_bytes_), "cudaMemset");
    std::vector<fast::Mailboxes*> all;
    for (std::size_t rank = 0; rank < ranks_; ++rank) all.push_back(mailboxes_ + rank);
    check(cudaMalloc(&mailbox_table_, ranks_ * sizeof(fast::Mailboxes*)), "cudaMalloc");
    check(cudaMemcpy(mailbox_table_, all.data(), ranks_ * sizeof(fast::Mailboxes*),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(cudaHostAlloc(&status_, ranks_ * status_stride * sizeof(std::uint32_t),
                        cudaHostAllocMapped),
          "cudaHostAlloc");
    std::fill_n(status_, ranks_ * status_stride, 0U);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~TeamMemory() {
    cudaFree(signals_);
    cudaFree(mailboxes_);
    cudaFree(slabs_);
    cudaFree(mailbox_table_);
    cudaFreeHost(status_);
  }
  TeamMemory(const TeamMemory&) = delete;
  TeamMemory& operator=(const TeamMemory&) = delete;

  fast::Team team(int rank) const {
    fast::Team team;
    team.rank = rank;
    team.ranks = static_cast<int>(ranks_);
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      team.signals[peer] = signals_ + peer;
      team.slabs[peer] = slabs_ + peer * slab_bytes_;
    }
    team.ll_bytes = ll_bytes;
    team.push_bytes = push_bytes;
    team.status = status_ + static_cast<std::size_t>(rank) * status_stride;
    team.timeout_ns = static_cast<std::uint64_t>(wait_limit().count() * 1e9);
    return team;
  }
  fast::Mailboxes** mailboxes() const { return mailbox_table_; }

 private:
  static constexpr std::size_t status_stride = 32;  // cache lines of their own

  std::size_t ranks_;
  std::size_t slab_bytes_;
  fast::Signals* signals_ = nullptr;
  fast::Mailboxes* mailboxes_ = nullptr;
  std::byte* slabs_ = nullptr;
  fast::Mailboxes** mailbox_table_ = nullptr;
  std::uint32_t* status_ = nullptr;
};

/// Calls f with an element of the type in which sums of this type are computed, and the number of
/// such elements: complex numbers are pairs.
template <class F>
void with_sum_type(DType dtype, index_t count, F f) {
  switch (dtype) {
    case DType::f16: return f(__half{}, count);
    case DType::bf16: return f(__nv_bfloat16{}, count);
    case DType::f32: return f(float{}, count);
    case DType::f64: return f(double{}, count);
    case DType::c64: return f(float{}, 2 * count);
    default: return f(double{}, 2 * count);
  }
}

class ThreadGpuBoard final : public GpuBoard {
 public:
  ThreadGpuBoard(std::shared_ptr<TeamMemory> memory, int rank)
      : memory_(std::move(memory)), team_(memory_->team(rank)) {
    // All ranks share the GPU. Occupancy is the same for all of them.
    resident_ = fast::max_blocks;
    with_sum_type(DType::f64, 0, [&](auto example, index_t) {
      using T = decltype(example);
      for (const fast::Algorithm algorithm :
           {fast::Algorithm::ll, fast::Algorithm::push, fast::Algorithm::two_shot}) {
        int blocks = 0;
        check((fast::resident_blocks<T, fast::Sum>(algorithm, team_.ranks, team_.ranks, blocks)),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        resident_ = std::min(resident_, blocks);
      }
    });
  }

  void allreduce(ConstBufferRef in, BufferRef out, void* stream) override {
    with_sum_type(in.dtype, in.count, [&](auto example, index_t count) {
      using T = decltype(example);
      const auto elements = static_cast<std::size_t>(count);
      const std::size_t packs = fast::pack_count<T>(elements);
      const fast::Algorithm algorithm = choose(16 * packs);
      const std::size_t shares =
          algorithm == fast::Algorithm::two_shot ? static_cast<std::size_t>(team_.ranks) : 1;
      const int blocks = fast::blocks_for((packs + shares - 1) / shares, resident_);
      check((fast::allreduce<T, fast::Sum>(algorithm, team_, static_cast<const T*>(in.data),
                                           static_cast<T*>(out.data), elements, blocks,
                                           static_cast<cudaStream_t>(stream))),
            "fast allreduce");
    });
  }

  void exchange(std::span<const Message> sent, std::span<const Message> received, void* stream,
                void* side_stream) override;

  void abort() noexcept override {
    *team_.status = static_cast<std::uint32_t>(fast::Status::aborted);
  }
  std::string failure() const override {
    switch (static_cast<fast::Status>(*team_.status)) {
      case fast::Status::ok: return {};
      case fast::Status::aborted: return "the communicator was aborted";
      case fast::Status::timed_out:
        return "a kernel waited for another rank longer than WEFT_TIMEOUT allows";
      case fast::Status::mismatched: break;
    }
    return "a rank was to receive a message of another size than was sent";
  }

 private:
  /// Set with weft bench allreduce on an H200 that the ranks share.
  static fast::Algorithm choose(std::size_t bytes) {
    if (bytes <= 4096) return fast::Algorithm::ll;
    return bytes <= std::size_t{512} << 10 ? fast::Algorithm::push : fast::Algorithm::two_shot;
  }

  std::shared_ptr<TeamMemory> memory_;
  fast::Team team_;
  int resident_;
};

/// The messages of one direction that one kernel takes, from `done` on: at most `depth` for each
/// peer, so that kernels of two ranks match.
class Taking {
 public:
  Taking(std::span<const GpuBoard::Message> messages, int depth)
      : messages_(messages), depth_(depth), done_(messages.size()) {}

  /// Adds messages to the batch; returns how many are left.
  template <class Add>
  std::size_t take(Add add) {
    std::array<int, fast::max_ranks> taken = {};
    std::size_t left = 0;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (done_[i]) continue;
      int& count = taken[static_cast<std::size_t>(messages_[i].peer)];
      if (count == depth_) {
        ++left;
        continue;
      }
      add(messages_[i], count++);
      done_[i] = true;
    }
    return left;
  }

 private:
  std::span<const GpuBoard::Message> messages_;
  int depth_;
  std::vector<bool> done_;
};

void ThreadGpuBoard::exchange(std::span<const Message> sent, std::span<const Message> received,
                              void* stream, void* side_stream) {
  const int depth = fast::max_messages / (2 * team_.ranks);
  Taking sends(sent, depth);
  Taking receives(received, depth);
  for (std::size_t left = 1; left > 0;) {
    fast::Batch batch;
    int blocks = 1;
    const auto add = [&](const Message& message, int order) {
      fast::Message& next = batch.message[batch.messages++];
      next.data = static_cast<std::byte*>(message.data);
      next.bytes = static_cast<std::uint64_t>(message.bytes);
      next.peer = static_cast<std::int16_t>(message.peer);
      next.order = static_cast<std::int16_t>(order);
      return &next;
    };
    left = sends.take([&](const Message& message, int order) {
      add(message, order);
      ++batch.sends;
    });
    left += receives.take([&](const Message& message, int order) {
      fast::Message* next = add(message, order);
      constexpr std::uint64_t bytes_per_block = 32 << 10;
      const std::uint64_t wanted = next->bytes / bytes_per_block + 1;
      next->first_block = static_cast<std::uint16_t>(blocks);
      next->blocks = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(wanted, static_cast<std::uint64_t>(std::max(1, resident_ / 4))));
      blocks += next->blocks;
    });
    if (batch.messages == 0) return;
    if (batch.sends > 0) {
      fast::post_kernel<<<1, fast::max_messages, 0, static_cast<cudaStream_t>(stream)>>>(
          team_, memory_->mailboxes(), batch);
    }
    fast::
        message_kernel<<<blocks, fast::block_threads, 0, static_cast<cudaStream_t>(side_stream)>>>(
            team_, memory_->mailboxes(), batch);
    check(cudaGetLastError(), "fast messages");
  }
}

}  // namespace

bool GpuBoard::can_reduce(DType dtype, ReduceOp op) {
  if (op != ReduceOp::sum) return false;
  return is_complex_type(dtype) || dtype == DType::f16 || dtype == DType::bf16 ||
         dtype == DType::f32 || dtype == DType::f64;
}

std::unique_ptr<GpuBoard> GpuBoard::make(Transport& host, Device device) {
  check(cudaSetDevice(device.ordinal), "cudaSetDevice");
  std::shared_ptr<TeamMemory> memory;
  if (host.rank() == 0) memory = std::make_shared<TeamMemory>(host.size());
  // Ranks are threads: the address of the pointer is valid on all of them until the barrier.
  const auto addresses = gather_objects(host, reinterpret_cast<std::uintptr_t>(&memory));
  if (host.rank() != 0) {
    memory = *reinterpret_cast<const std::shared_ptr<TeamMemory>*>(addresses.front());
  }
  host.barrier(CallMode::blocking);
  return std::make_unique<ThreadGpuBoard>(std::move(memory), host.rank());
}

}  // namespace weft::detail
