#include "comm/device_route.hpp"

#include <weft/core/buffer.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/allreduce_table.hpp"
#include "comm/comm_state.hpp"
#include "comm/fast_gpu_transport.hpp"
#include "comm/gather_objects.hpp"
#include "comm/launch_checks.hpp"
#include "comm/reduction_kernels.hpp"
#include "comm/self_transport.hpp"
#include "core/cuda_info.hpp"
#ifdef WEFT_WITH_MPI
#include "comm/mpi_library.hpp"
#endif
#ifdef WEFT_WITH_NCCL
#include "comm/nccl_library.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

constexpr std::size_t max_fast_ranks = 16;       // fast::max_ranks
constexpr std::int32_t needed_connections = 32;  // the most that CUDA has
// They do not meet before kernels are launched, and may hold up a launch that others wait for.
constexpr const char* other_threads = "there are threads that are not in the communicator";

std::atomic<bool> comm_fast = false;

/// Two ranks that share a GPU, if any.
std::optional<std::pair<std::size_t, std::size_t>> find_sharing(std::span<const RouteFacts> ranks) {
  for (std::size_t a = 0; a < ranks.size(); ++a) {
    for (std::size_t b = a + 1; b < ranks.size(); ++b) {
      if (ranks[a].machine == ranks[b].machine && ranks[a].gpu == ranks[b].gpu) {
        return std::pair(a, b);
      }
    }
  }
  return std::nullopt;
}

bool all_on_one_gpu(std::span<const RouteFacts> ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RouteFacts& each) {
    return each.machine == ranks[0].machine && each.gpu == ranks[0].gpu;
  });
}

/// Why NCCL cannot connect these ranks; empty if it can.
std::string nccl_error(std::span<const RouteFacts> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::int32_t version = ranks[rank].nccl_version;
    if (version == 0) return "this build of Weft has no NCCL";
    if (version < oldest_nccl) {
      return fmt::format("NCCL {} on rank {} is older than {}, the oldest supported version",
                         nccl_version_text(version), rank, nccl_version_text(oldest_nccl));
    }
  }
  return {};
}

/// Why kernels of these ranks cannot reach into each other's memory; empty if they can.
std::string fast_error(std::string_view host, std::span<const RouteFacts> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].machine == ranks[0].machine) continue;
    return fmt::format("ranks 0 and {} are on different machines", rank);
  }
  if (ranks.size() > max_fast_ranks) {
    return fmt::format("there are {} ranks, and at most {} are possible", ranks.size(),
                       max_fast_ranks);
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].table != ranks[0].table) {
      return fmt::format("WEFT_TABLE or WEFT_ORDER differs between ranks 0 and {}", rank);
    }
    if (ranks[rank].fast_allowed == 0) return fmt::format("WEFT_FAST=0 on rank {}", rank);
    // A kernel of one thread must not be queued behind one of another that waits for it.
    if (host == "thread" && ranks[rank].connections < needed_connections) {
      return fmt::format(
          "streams of threads share hardware queues; set CUDA_DEVICE_MAX_CONNECTIONS={} before the "
          "program starts",
          needed_connections);
    }
  }
  return {};
}

bool cuda_aware(std::span<const RouteFacts> ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RouteFacts& each) { return each.cuda_aware_mpi != 0; });
}

[[noreturn]] void refuse_request(std::string_view request, const std::string& why) {
  throw AgreedError(fmt::format("WEFT_DEVICE_COMM={}: {}", request, why));
}

Route requested(RouteRequest request, std::string_view host, std::span<const RouteFacts> ranks) {
  switch (request) {
    case RouteRequest::fast: {
      const bool by_option = ranks[0].by_option != 0;
      const std::string error = fast_error(host, ranks);
      if (!error.empty() && by_option) throw AgreedError("--comm fast: " + error);
      if (!error.empty()) refuse_request("fast", error);
      return {"fast", by_option ? "set by --comm fast" : "set by WEFT_DEVICE_COMM"};
    }
    case RouteRequest::nccl: {
      const std::string error = nccl_error(ranks);
      if (!error.empty()) refuse_request("nccl", error);
      // NCCL can be made to treat processes as if on several hosts, but not threads.
      if (const auto pair = find_sharing(ranks); pair && host == "thread") {
        refuse_request("nccl", fmt::format("ranks {} and {} are threads that share a GPU, which "
                                           "NCCL refuses; start them as processes",
                                           pair->first, pair->second));
      }
      return {"nccl", "set by WEFT_DEVICE_COMM"};
    }
    case RouteRequest::mpi:
      if (host != "mpi") refuse_request("mpi", fmt::format("the ranks are on '{}'", host));
      if (!cuda_aware(ranks)) refuse_request("mpi", "the MPI library is not CUDA-aware");
      return {"mpi", "set by WEFT_DEVICE_COMM"};
    case RouteRequest::none: return {"none", "set by WEFT_DEVICE_COMM"};
    case RouteRequest::staged:
    case RouteRequest::automatic: break;
  }
  return {"staged", "set by WEFT_DEVICE_COMM"};
}

Route automatic(std::string_view host_transport, std::span<const RouteFacts> ranks,
                std::string not_fast) {
  if (ranks.size() == 1) return {"self", "there is one rank"};
  // Between GPUs, NCCL knows the links.
  if (not_fast.empty() && !all_on_one_gpu(ranks)) not_fast = "the ranks are not on one GPU";
  if (not_fast.empty() && host_transport == "thread" && ranks[0].others != 0) {
    not_fast = other_threads;
  }
  if (not_fast.empty()) not_fast = fast_error(host_transport, ranks);
  if (not_fast.empty()) {
    return {"fast", "the ranks share a GPU, and their kernels reach into each other's memory"};
  }
  if (host_transport == "thread" && all_on_one_gpu(ranks) &&
      ranks.size() <= static_cast<std::size_t>(kernels::max_gpu_inputs)) {
    return {
        "thread",
        "the ranks are threads on one GPU, and read each other's memory; not 'fast': " + not_fast};
  }
  std::string why = nccl_error(ranks);
  if (why.empty()) {
    const auto pair = find_sharing(ranks);
    if (!pair) {
      return {"nccl", fmt::format("every rank has a GPU of its own, and there is NCCL {}",
                                  nccl_version_text(ranks[0].nccl_version))};
    }
    why = fmt::format("ranks {} and {} share a GPU, which NCCL refuses; not 'fast': {}",
                      pair->first, pair->second, not_fast);
  }
  if (host_transport == "mpi" && cuda_aware(ranks)) {
    return {"mpi", why + "; the MPI library is CUDA-aware"};
  }
  return {"staged", why + "; copies through pinned host memory instead"};
}

}  // namespace

std::string nccl_version_text(std::int32_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void set_comm_fast() {
  const RouteRequest set = settings().device_comm;
  require(set == RouteRequest::automatic || set == RouteRequest::fast,
          "--comm fast: WEFT_DEVICE_COMM requests another route; set it to fast or unset it");
  require(settings().fast, "--comm fast: WEFT_FAST=0 forbids it");
  comm_fast = true;
}

void clear_comm_fast() noexcept { comm_fast = false; }

RouteRequest route_request() { return comm_fast ? RouteRequest::fast : settings().device_comm; }

RouteFacts local_route_facts(const Transport& host, [[maybe_unused]] Device device) {
  RouteFacts facts;
  facts.machine = machine_id();
  facts.request = route_request();
  facts.by_option = comm_fast ? 1 : 0;
  facts.fast_allowed = settings().fast ? 1 : 0;
  facts.table = allreduce_table()->hash();
  facts.others = host.name() == "thread" && host.size() < host.job_size() ? 1 : 0;
#ifdef WEFT_WITH_CUDA
  facts.gpu = cuda_gpu_id(device);
  facts.connections = cuda_connections();
#endif
#ifdef WEFT_WITH_NCCL
  facts.nccl_version = nccl_version();
#endif
#ifdef WEFT_WITH_MPI
  if (host.name() == "mpi") facts.cuda_aware_mpi = mpi_is_cuda_aware() ? 1 : 0;
#endif
  return facts;
}

Route choose_route(std::string_view host_transport, std::span<const RouteFacts> ranks,
                   const std::string& not_fast) {
  const RouteRequest request = ranks[0].request;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].request == request) continue;
    throw AgreedError(
        fmt::format("WEFT_DEVICE_COMM or --comm fast differs between ranks 0 and {}", rank));
  }
  Route route = request == RouteRequest::automatic ? automatic(host_transport, ranks, not_fast)
                                                   : requested(request, host_transport, ranks);
  // Between processes, some calls of the route "fast" are staged.
  route.capturable = route.name == "self" || route.name == "nccl" ||
                     (route.name == "fast" && host_transport == "thread");
  return route;
}

void split_gpu_transport(CommState& whole, CommState& part, int color) {
  part.gpu = whole.gpu;
  part.route = whole.route;
  if (whole.gpu_transport == nullptr) return;
  const int size = part.transport == nullptr ? 0 : part.transport->size();
  const bool leaves_fast = whole.route.name == "fast" && whole.transport->name() == "thread" &&
                           size < whole.size() && route_request() == RouteRequest::automatic;
  if (leaves_fast) {
    part.route = {"thread", fmt::format("not 'fast': {}", other_threads)};
    part.gpu_transport = part.transport;
  } else if (whole.gpu_transport == whole.transport) {
    part.gpu_transport = part.transport;
  } else {
    // The GPU transport orders its ranks as the host transport does.
    const bool alone = size < 2;
    part.gpu_transport =
        whole.gpu_transport->split(alone ? -1 : color, alone ? 0 : part.transport->rank());
  }
}

void use_self_route_if_single(CommState& state) {
  if (state.transport->size() > 1) return;
  const bool direct =
      state.transport->accepts(Device::cuda()) && state.transport->ordered_on_stream();
  state.gpu_transport = direct ? state.transport : make_self_transport();
  state.gpu.reset();
  state.route = {"self", "there is one rank", true};
}

#ifdef WEFT_WITH_CUDA
namespace {

/// The mean time of small reductions in the best of several rounds, since a rank may lose its core;
/// on the rank with the longest.
std::chrono::duration<double> time_of_reductions(Transport& host, Transport& gpu, Device device) {
  using Clock = std::chrono::steady_clock;
  Buffer<float> data(1, device);
  const BufferRef memory(data);
  const auto reduce = [&](int times) {
    for (int i = 0; i < times; ++i) {
      gpu.allreduce(memory, memory, ReduceOp::sum, CallMode::blocking);
    }
    Stream::current(device).synchronize();
  };
  reduce(2);  // loads the kernel
  constexpr int times = 10;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    const Clock::time_point start = Clock::now();
    reduce(times);
    const std::chrono::duration<double> mean = (Clock::now() - start) / times;
    best = std::min(best, mean.count());
  }
  const auto all = gather_objects(host, best);
  return std::chrono::duration<double>(*std::max_element(all.begin(), all.end()));
}

/// Processes on one GPU run in turn, for milliseconds each, unless the multi-process service lets
/// them run at once. Null, with a reason, if their kernels should not wait for each other.
std::shared_ptr<Transport> try_fast(const std::shared_ptr<Transport>& host, Device device,
                                    std::string& reason) {
  constexpr bool one_gpu = true;
  std::shared_ptr<Transport> transport;
  try {
    transport = make_fast_gpu_transport(host, device, one_gpu);
  } catch (const CommError& error) {  // on all ranks
    reason = error.what();
    return nullptr;
  }
  constexpr std::chrono::microseconds limit(200);
  const std::chrono::duration<double> time = time_of_reductions(*host, *transport, device);
  if (time < limit) return transport;
  reason = fmt::format(
      "a reduction takes {:.1f} ms, so the processes take turns on the GPU; start the CUDA "
      "multi-process service (nvidia-cuda-mps-control -d)",
      1e3 * time.count());
  return nullptr;
}

}  // namespace
#endif

void choose_gpu_transport(CommState& state, Device device) {
  const auto facts = gather_objects(*state.transport, local_route_facts(*state.transport, device));
  Route route = choose_route(state.transport->name(), facts);
  std::shared_ptr<Transport> transport;
  if (route.name == "thread" || route.name == "mpi") transport = state.transport;
#ifdef WEFT_WITH_CUDA
  if (route.name == "fast") {
    if (state.transport->name() == "thread" || facts[0].request == RouteRequest::fast) {
      transport = make_fast_gpu_transport(state.transport, device, all_on_one_gpu(facts));
    } else {
      std::string reason;
      transport = try_fast(state.transport, device, reason);
      if (transport == nullptr) route = choose_route(state.transport->name(), facts, reason);
    }
  }
#endif
#ifdef WEFT_WITH_NCCL
  if (route.name == "nccl") transport = make_nccl_transport(state.transport, device);
#endif
  state.route = route;
  state.gpu = device;
  // Requests may still refer to the previous transport.
  if (state.gpu_transport != nullptr) state.retired.push_back(state.gpu_transport);
  state.gpu_transport = transport;
}

}  // namespace weft::detail
