#include "comm/gpu_board.hpp"

#include <weft/core/error.hpp>

#include "comm/cuda/fast_messages.cuh"
#include "comm/cuda/gpu_epilogues.hpp"
#include "comm/cuda/launch_allreduce.cuh"
#include "comm/gather_objects.hpp"
#include "comm/peer_memory.hpp"
#include "comm/waiter.hpp"
#include "core/cuda/cuda_check.hpp"
#include "core/pinned_buffer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

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

class CudaBoard final : public GpuBoard {
 public:
  /// `sharing` is the number of ranks on the GPU, also of other communicators.
  CudaBoard(std::unique_ptr<PeerMemory> flags, std::unique_ptr<PeerMemory> slabs, int rank,
            int ranks, int sharing, Shared shared)
      : flags_(std::move(flags)), slabs_(std::move(slabs)), status_(sizeof(std::uint32_t)) {
    team_.rank = rank;
    team_.ranks = ranks;
    for (int peer = 0; peer < ranks; ++peer) {
      auto* theirs = reinterpret_cast<Flags*>(flags_->part(peer));
      team_.signals[peer] = &theirs->signals;
      team_.mailboxes[peer] = theirs->mailboxes;
      team_.slabs[peer] = slabs_->part(peer);
    }
    team_.ll_bytes = ll_bytes;
    team_.push_bytes = push_bytes_for(ranks, shared.process);
    team_.one_context = shared.process && shared.gpu;
    cuda_check(fast::can_overlap(team_.overlaps), "cudaFuncGetAttributes");
    team_.status = reinterpret_cast<std::uint32_t*>(status_.data());
    *team_.status = static_cast<std::uint32_t>(fast::Status::ok);
    team_.timeout_ns = static_cast<std::uint64_t>(wait_limit().count() * 1e9);
    // Kernels of all ranks that share the GPU must be resident at once. All ranks compute the same.
    resident_ = resident_blocks_for<fast::Sum>(ranks, sharing);
    resident_with_epilogue_ = resident_epilogue_blocks(ranks, sharing);
  }

  ~CudaBoard() override {
    if (*team_.status == static_cast<std::uint32_t>(fast::Status::ok)) return;
    // Some rank did not complete its calls: it may still write to this one's memory.
    flags_->leak();
    slabs_->leak();
    static_cast<void>(new (std::nothrow) PinnedBuffer(std::move(status_)));
  }

  void allreduce(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out,
                 const RegisteredPlaces& places, void* stream) override {
    launch_allreduce(algorithm, team_with(places), in, out, fast::Sum{}, resident_, stream);
  }
  void allreduce_scaled(AllreduceAlgorithm algorithm, ConstBufferRef in, BufferRef out,
                        const RegisteredPlaces& places, const Scaling& scaling,
                        void* stream) override {
    launch_scaled(algorithm, team_with(places), in, out, scaling, resident_with_epilogue_, stream);
  }
  bool allreduce_rms_norm(ConstBufferRef in, BufferRef out, const RowNorm& norm,
                          void* stream) override {
    return launch_rms_norm(team_, in, out, norm, resident_with_epilogue_, stream);
  }

  void send(Channel channel, std::span<const Message> messages, void* caller,
            void* taken) override {
    const fast::Team team = team_of(channel);
    for_each_batch(messages, [&](const fast::Batch& batch, int) {
      fast::post_kernel<<<1, fast::max_messages, 0, static_cast<cudaStream_t>(caller)>>>(team,
                                                                                         batch);
      fast::taken_kernel<<<1, fast::max_messages, 0, static_cast<cudaStream_t>(taken)>>>(team,
                                                                                         batch);
    });
  }
  void receive(Channel channel, std::span<const Message> messages, void* stream) override {
    const fast::Team team = team_of(channel);
    for_each_batch(messages, [&](const fast::Batch& batch, int blocks) {
      fast::receive_kernel<<<blocks, fast::block_threads, 0, static_cast<cudaStream_t>(stream)>>>(
          team, batch);
    });
  }

  void abort() noexcept override {
    *team_.status = static_cast<std::uint32_t>(fast::Status::aborted);
  }
  std::string failure() const override {
    switch (static_cast<fast::Status>(*team_.status)) {
      case fast::Status::ok: return {};
      case fast::Status::aborted: return "the communicator was aborted";
      case fast::Status::timed_out:
        return "a kernel waited for another rank longer than WEFT_TIMEOUT allows";
      case fast::Status::not_registered:
        return "the ranks of an allreduce must all pass registered memory, or all of them other "
               "memory; at least one rank did not, or has ended the registration of its memory";
      case fast::Status::mismatched: break;
    }
    return "a rank was to receive a message of another size than was sent";
  }

 private:
  fast::Team team_with(const RegisteredPlaces& places) const {
    fast::Team team = team_;
    team.registered = static_cast<const fast::RegisteredPart*>(places.table);
    team.places = {places.in, places.out};
    team.captured_places = static_cast<const fast::Places*>(places.captured);
    return team;
  }
  fast::Team team_of(Channel channel) const {
    fast::Team team = team_;
    for (int peer = 0; peer < team.ranks; ++peer) {
      team.mailboxes[peer] += channel == Channel::collectives ? 1 : 0;
    }
    return team;
  }
  template <class Launch>
  void for_each_batch(std::span<const Message> messages, Launch launch);

  std::unique_ptr<PeerMemory> flags_;
  std::unique_ptr<PeerMemory> slabs_;
  PinnedBuffer status_;
  fast::Team team_;
  int resident_;
  int resident_with_epilogue_;
  std::vector<bool> done_;  // kept so that calls do not allocate
};

/// Calls launch(batch, blocks) until all messages are in a batch. A batch has as many messages of
/// each peer on the sender as on the receiver, so that kernels of two ranks match; and few enough
/// that their blocks take a quarter of what fits, since reductions and other messages need room.
template <class Launch>
void CudaBoard::for_each_batch(std::span<const Message> messages, Launch launch) {
  const int ranks = team_.ranks;
  const int depth = std::max(1, std::min(fast::max_messages, resident_ / 4) / ranks);
  const auto blocks_each = static_cast<std::uint64_t>(std::max(
      1, resident_ / 4 / std::max(1, std::min(static_cast<int>(messages.size()), depth * ranks))));
  done_.assign(messages.size(), false);
  for (std::size_t left = messages.size(); left > 0;) {
    fast::Batch batch;
    int blocks = 0;
    std::array<int, fast::max_ranks> taken = {};
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const Message& message = messages[i];
      int& order = taken[static_cast<std::size_t>(message.peer)];
      if (done_[i] || order == depth) continue;
      constexpr std::uint64_t bytes_per_block = 32 << 10;
      fast::Message& next = batch.message[batch.messages++];
      next.data = static_cast<std::byte*>(message.data);
      next.bytes = static_cast<std::uint64_t>(message.bytes);
      next.peer = static_cast<std::int16_t>(message.peer);
      next.order = static_cast<std::int16_t>(order++);
      next.first_block = static_cast<std::uint16_t>(blocks);
      next.blocks = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(next.bytes / bytes_per_block + 1, blocks_each));
      blocks += next.blocks;
      done_[i] = true;
      --left;
    }
    launch(batch, blocks);
    cuda_check(cudaGetLastError(), "fast messages");
  }
}

}  // namespace

bool GpuBoard::can_reduce(DType dtype, ReduceOp op) {
  if (op != ReduceOp::sum) return false;
  return is_complex_type(dtype) || dtype == DType::f16 || dtype == DType::bf16 ||
         dtype == DType::f32 || dtype == DType::f64;
}

std::unique_ptr<GpuBoard> GpuBoard::make(Transport& host, Device device, Shared shared) {
  auto flags = PeerMemory::make(host, device, sizeof(Flags));
  auto slabs = PeerMemory::make(
      host, device,
      fast::slab_bytes(host.size(), ll_bytes, push_bytes_for(host.size(), shared.process)));
  std::unique_ptr<GpuBoard> board;
  std::string error;
  try {
    board = std::make_unique<CudaBoard>(std::move(flags), std::move(slabs), host.rank(),
                                        host.size(), host.job_size(), shared);
  } catch (const Error& failure) {
    error = failure.what();
  }
  for (const std::int32_t made : gather_objects(host, std::int32_t{board != nullptr})) {
    if (made == 0)
      throw CommError(error.empty() ? "another rank has no memory for signals" : error);
  }
  return board;
}

}  // namespace weft::detail
