#include "comm/gpu_board.hpp"

#include <weft/core/error.hpp>

#include "comm/cuda/fast_messages.cuh"
#include "comm/peer_memory.hpp"
#include "comm/waiter.hpp"
#include "core/pinned_buffer.hpp"

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

constexpr std::size_t ll_bytes = gpu_ll_bytes;

/// Between threads, large data need not be pushed. Between processes it goes through the slabs in
/// chunks, and chunks take longer than their bytes: a slab has about 32 MiB.
std::size_t push_bytes_for(int ranks, bool one_process) {
  if (one_process) return std::size_t{512} << 10;
  return (std::size_t{16} << 20) / static_cast<std::size_t>(ranks) / 16 * 16;
}

/// The flags of one rank, in memory of their own: data written beyond a slab must not look like
/// one.
struct Flags {
  fast::Signals signals;
  fast::Mailboxes mailboxes[2];  // by channel
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

fast::Algorithm kernel_for(AllreduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllreduceAlgorithm::ll: return fast::Algorithm::ll;
    case AllreduceAlgorithm::push: return fast::Algorithm::push;
    case AllreduceAlgorithm::relay: return fast::Algorithm::relay;
    default: return fast::Algorithm::two_shot;
  }
}

class CudaBoard final : public GpuBoard {
 public:
  CudaBoard(Transport& host, Device device, bool one_process)
      : flags_(PeerMemory::make(host, device, sizeof(Flags))),
        slabs_(PeerMemory::make(
            host, device,
            fast::slab_bytes(host.size(), ll_bytes, push_bytes_for(host.size(), one_process)))),
        status_(sizeof(std::uint32_t)) {
    team_.rank = host.rank();
    team_.ranks = host.size();
    for (int peer = 0; peer < host.size(); ++peer) {
      auto* flags = reinterpret_cast<Flags*>(flags_->part(peer));
      team_.signals[peer] = &flags->signals;
      team_.mailboxes[peer] = flags->mailboxes;
      team_.slabs[peer] = slabs_->part(peer);
    }
    team_.ll_bytes = ll_bytes;
    team_.push_bytes = push_bytes_for(host.size(), one_process);
    team_.status = reinterpret_cast<std::uint32_t*>(status_.data());
    *team_.status = static_cast<std::uint32_t>(fast::Status::ok);
    team_.timeout_ns = static_cast<std::uint64_t>(wait_limit().count() * 1e9);
    // All ranks share the GPU. Occupancy is the same for all of them, and lowest for doubles.
    resident_ = fast::max_blocks;
    for (const fast::Algorithm algorithm : {fast::Algorithm::ll, fast::Algorithm::push,
                                            fast::Algorithm::relay, fast::Algorithm::two_shot}) {
      int blocks = 0;
      check((fast::resident_blocks<double, fast::Sum>(algorithm, team_.ranks, team_.ranks, blocks)),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
      resident_ = std::min(resident_, blocks);
    }
  }

  ~CudaBoard() override {
    if (*team_.status == static_cast<std::uint32_t>(fast::Status::ok)) return;
    // Some rank did not complete its calls: it may still write to this one's memory.
    flags_->leak();
    slabs_->leak();
  }

  void allreduce(AllreduceAlgorithm chosen, ConstBufferRef in, BufferRef out,
                 void* stream) override {
    const fast::Algorithm algorithm = kernel_for(chosen);
    with_sum_type(in.dtype, in.count, [&](auto example, index_t count) {
      using T = decltype(example);
      const auto elements = static_cast<std::size_t>(count);
      const std::size_t packs = fast::pack_count<T>(elements);
      const bool in_slices =
          algorithm == fast::Algorithm::two_shot || algorithm == fast::Algorithm::relay;
      const std::size_t shares = in_slices ? static_cast<std::size_t>(team_.ranks) : 1;
      const int blocks = fast::blocks_for((packs + shares - 1) / shares, resident_);
      check((fast::allreduce<T, fast::Sum>(algorithm, team_, static_cast<const T*>(in.data),
                                           static_cast<T*>(out.data), elements, blocks,
                                           static_cast<cudaStream_t>(stream))),
            "fast allreduce");
    });
  }

  void exchange(Channel channel, std::span<const Message> sent, std::span<const Message> received,
                void* stream, void* side_stream) override;

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
  std::unique_ptr<PeerMemory> flags_;
  std::unique_ptr<PeerMemory> slabs_;
  PinnedBuffer status_;
  fast::Team team_;
  int resident_;
  // Kept so that calls do not allocate.
  std::vector<bool> sends_done_;
  std::vector<bool> receives_done_;
};

/// The messages of one direction, of which each kernel takes at most `depth` for each peer, so that
/// kernels of two ranks match. `done` is memory to mark them in.
class Taking {
 public:
  Taking(std::span<const GpuBoard::Message> messages, int depth, std::vector<bool>& done)
      : messages_(messages), depth_(depth), done_(done) {
    done_.assign(messages.size(), false);
  }

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
  std::vector<bool>& done_;
};

void CudaBoard::exchange(Channel channel, std::span<const Message> sent,
                         std::span<const Message> received, void* stream, void* side_stream) {
  auto* const caller = static_cast<cudaStream_t>(stream);
  auto* const side = static_cast<cudaStream_t>(side_stream);
  fast::Team team = team_;
  for (int peer = 0; peer < team.ranks; ++peer) {
    team.mailboxes[peer] += channel == Channel::collectives ? 1 : 0;
  }
  const int depth = fast::max_messages / (2 * team_.ranks);
  // A quarter of the blocks that fit, since reductions and the other channel need room, too.
  const auto most_blocks = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(resident_) / 4 / std::max<std::size_t>(received.size(), 1));
  Taking sends(sent, depth, sends_done_);
  Taking receives(received, depth, receives_done_);
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
      next->blocks = static_cast<std::uint16_t>(std::min(wanted, most_blocks));
      blocks += next->blocks;
    });
    if (batch.messages == 0) return;
    if (batch.sends > 0) {
      fast::post_kernel<<<1, fast::max_messages, 0, caller>>>(team, batch);
    }
    fast::message_kernel<<<blocks, fast::block_threads, 0, side>>>(team, batch);
    check(cudaGetLastError(), "fast messages");
  }
}

}  // namespace

bool GpuBoard::can_reduce(DType dtype, ReduceOp op) {
  if (op != ReduceOp::sum) return false;
  return is_complex_type(dtype) || dtype == DType::f16 || dtype == DType::bf16 ||
         dtype == DType::f32 || dtype == DType::f64;
}

std::unique_ptr<GpuBoard> GpuBoard::make(Transport& host, Device device, bool one_process) {
  return std::make_unique<CudaBoard>(host, device, one_process);
}

}  // namespace weft::detail
