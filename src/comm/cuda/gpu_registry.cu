#include "comm/gpu_registry.hpp"

#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/cuda/export_heap.hpp"
#include "comm/cuda/gpu_allocation.hpp"
#include "comm/cuda/known_memory.hpp"
#include "comm/cuda/registered_table.hpp"
#include "comm/gather_objects.hpp"
#include "core/at.hpp"
#include "core/cuda/cuda_check.hpp"
#include "core/cuda_device.hpp"
#include "core/graph_hook.hpp"
#include "core/hash.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

using Known = KnownMemory;
using Problem = RegistrationProblem;

/// The captured calls that a communicator may have at a time.
constexpr std::uint32_t max_captured_calls = 16384;

class Registration;
class CapturedCalls;

class CudaRegistry final : public GpuRegistry, public std::enable_shared_from_this<CudaRegistry> {
 public:
  CudaRegistry(std::shared_ptr<Transport> host, Device device, Buffer<std::byte> memory)
      : host_(std::move(host)),
        device_(device),
        memory_(std::move(memory)),
        table_(*host_, device, memory_.data()),
        records_(reinterpret_cast<fast::Places*>(memory_.data() +
                                                 RegisteredTable::bytes(host_->size()))) {
    for (std::uint32_t record = max_captured_calls; record-- > 0;) free_.push_back(record);
  }

  /// The kernels of this rank have ended.
  ~CudaRegistry() override {
    for (RegisteredTable::Added& each : mapped_) table_.release(each);
  }

  static std::size_t bytes(int ranks) {
    return RegisteredTable::bytes(ranks) + max_captured_calls * sizeof(fast::Places);
  }

  std::unique_ptr<MemoryRegistration> add(BufferRef memory) override;
  std::unique_ptr<MemoryRegistration> allocate(index_t bytes) override;
  RegisteredPlaces find(ConstBufferRef in, ConstBufferRef out) override;
  RegisteredPlaces capture(ConstBufferRef in, ConstBufferRef out, void* stream) override;

 private:
  friend class Registration;
  friend class CapturedCalls;

  /// Adds memory that is not in use. Sets `obstacle` if other ranks will not access it.
  RegisteredTable::Added add_range(std::byte* begin, std::size_t bytes, Problem problem,
                                   std::string& obstacle);
  /// Proves that all ranks have access.
  std::string prove(RegisteredTable::Added& added);
  RegisteredPlaces places(std::uint64_t in, std::uint64_t out) const {
    return {.table = table_.on_gpu(), .in = in, .out = out, .captured = nullptr};
  }
  const Known* known(ConstBufferRef memory) const;

  std::shared_ptr<Transport> host_;
  Device device_;
  Buffer<std::byte> memory_;  // the table, and the records
  RegisteredTable table_;
  std::vector<Known> known_;  // by add() and allocate()

  // Captured calls. Their memory stays mapped while the communicator or a graph exists, since ranks
  // destroy graphs at different times. Other calls do not use it: on other ranks, their memory may
  // be none that was captured.
  fast::Places* records_;  // on the GPU
  std::mutex mutex_;       // graphs may be destroyed by other threads
  std::vector<std::uint32_t> free_;
  std::weak_ptr<CapturedCalls> capturing_;
  std::vector<Known> captured_;
  std::vector<RegisteredTable::Added> mapped_;
};

// Registered by call

class Registration final : public MemoryRegistration {
 public:
  Registration(std::shared_ptr<CudaRegistry> registry, BufferRef memory, bool owned)
      : registry_(std::move(registry)), memory_(memory), owned_(owned) {}

  void* data() const override { return memory_.data; }
  index_t bytes() const override { return memory_.bytes(); }
  const std::string& obstacle() const override { return obstacle_; }

  void add(Problem problem) {
    auto* const begin = static_cast<std::byte*>(memory_.data);
    const auto length = static_cast<std::size_t>(memory_.bytes());
    added_ = registry_->add_range(begin, length, problem, obstacle_);
    if (!obstacle_.empty()) return;
    number_ = added_[at(registry_->host_->rank())][0].number;
    registry_->known_.push_back({begin, length, number_, owned_ ? 0 : gpu_allocation_id(begin)});
  }
  void end() override {
    const Transport::CallScope scope(*registry_->host_, "the end of registered memory");
    if (obstacle_.empty()) {
      // All ranks have issued their calls; when those of all have ended, all unmap the memory; and
      // only then may its owner free it.
      Stream::current(registry_->device_).synchronize();
      registry_->host_->barrier(CallMode::blocking);
      forget();
      registry_->table_.remove(added_);
    }
    registry_->host_->barrier(CallMode::blocking);
    if (!owned_) return;
    ExportHeap::instance().give_back(registry_->device_, static_cast<std::size_t>(memory_.bytes()),
                                     static_cast<std::byte*>(memory_.data));
  }
  void abandon() noexcept override { forget(); }

 private:
  void forget() noexcept {
    if (!obstacle_.empty()) return;
    std::erase_if(registry_->known_, [&](const Known& each) { return each.number == number_; });
  }

  std::shared_ptr<CudaRegistry> registry_;
  BufferRef memory_;
  bool owned_;
  std::uint32_t number_ = 0;
  RegisteredTable::Added added_;
  std::string obstacle_;
};

RegisteredTable::Added CudaRegistry::add_range(std::byte* begin, std::size_t bytes, Problem problem,
                                               std::string& obstacle) {
  if (problem == Problem::none && cuda_is_capturing(Stream::current(device_).handle())) {
    problem = Problem::is_capturing;
  }
  if (problem == Problem::none && bytes < proof_bytes(host_->size())) problem = Problem::too_small;
  const RegisteredTable::Range range = {begin, bytes};
  auto added = table_.add({&range, 1}, problem, obstacle);
  if (!obstacle.empty()) return added;
  obstacle = prove(added);
  if (!obstacle.empty()) table_.remove(added);
  return added;
}

std::string CudaRegistry::prove(RegisteredTable::Added& added) {
  const Stream stream = Stream::current(device_);
  auto* const handle = static_cast<cudaStream_t>(stream.handle());
  std::vector<std::byte*> parts;
  for (const auto& offers : added) parts.push_back(offers[0].address);
  std::byte* const mine = parts[at(host_->rank())];
  std::vector<std::byte> before(proof_bytes(host_->size()));
  // Ends a step: all ranks have completed theirs, and know whether all have seen what they should.
  bool same = true;
  std::string obstacle;
  const auto succeeded = [&](cudaError_t error) {
    if (error == cudaSuccess) error = cudaStreamSynchronize(handle);
    cudaGetLastError();  // or a later call would report it
    obstacle = first_problem(*host_, error != cudaSuccess ? Problem::cannot_access
                                     : same               ? Problem::none
                                                          : Problem::is_invisible);
    return obstacle.empty();
  };
  copy_bytes(before.data(), Device::cpu(), mine, device_, before.size());
  static_cast<void>(succeeded(write_marks(mine, host_->rank(), host_->size(), handle)) &&
                    succeeded(read_marks(parts, handle, same)) &&
                    succeeded(write_proofs(parts, host_->rank(), handle)) &&
                    succeeded(read_proofs(parts, handle, same)));
  copy_bytes(mine, device_, before.data(), Device::cpu(), before.size());
  stream.synchronize();
  return obstacle;
}

std::unique_ptr<MemoryRegistration> CudaRegistry::add(BufferRef memory) {
  auto made = std::make_unique<Registration>(shared_from_this(), memory, false);
  made->add(Problem::none);
  return made;
}

std::unique_ptr<MemoryRegistration> CudaRegistry::allocate(index_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  std::byte* const data = ExportHeap::instance().take(device_, size);
  auto made = std::make_unique<Registration>(shared_from_this(),
                                             BufferRef(data, bytes, DType::u8, device_), true);
  try {
    made->add(data == nullptr ? Problem::no_memory : Problem::none);
  } catch (const AgreedError&) {  // no rank has mapped it
    if (data != nullptr) ExportHeap::instance().give_back(device_, size, data);
    throw;
  }
  return made;
}

const Known* CudaRegistry::known(ConstBufferRef memory) const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const Known& each) { return each.contains(memory); });
  if (found == known_.end()) return nullptr;
  require(found->id == 0 || gpu_allocation_id(memory.data) == found->id,
          "allreduce: {} bytes of memory have been freed while they were registered; destroy the "
          "RegisteredMemory before, and keep the memory until then",
          found->bytes);
  return &*found;
}

RegisteredPlaces CudaRegistry::find(ConstBufferRef in, ConstBufferRef out) {
  if (known_.empty()) return {};
  const Known* const of_in = known(in);
  const Known* const of_out = in.data == out.data ? of_in : known(out);
  if (of_in == nullptr || of_out == nullptr) return {};
  return places(of_in->place(in), of_out->place(out));
}

// Registered at the end of a capture

/// The allreduces of one graph that may access memory where it is.
class CapturedCalls final : public GraphHook {
 public:
  CapturedCalls(std::shared_ptr<CudaRegistry> registry, unsigned long long capture)
      : registry_(std::move(registry)), capture_(capture) {}
  ~CapturedCalls() override {
    const std::lock_guard lock(registry_->mutex_);
    for (const Call& call : calls_) registry_->free_.push_back(call.record);
  }

  bool is_of(unsigned long long capture) const { return capture == capture_; }
  /// A call with registered memory, or with other.
  void note(bool registered) {
    ++seen_;
    registered_ += registered ? 1 : 0;
    kinds_.add(registered ? 1 : 0);
  }
  /// The record of a call whose memory is to be registered; null if there is none left.
  const fast::Places* reserve(ConstBufferRef in, ConstBufferRef out) {
    const std::lock_guard lock(registry_->mutex_);
    if (registry_->free_.empty()) {
      problem_ = Problem::records_full;
      return nullptr;
    }
    calls_.push_back({registry_->free_.back(), in, out});
    registry_->free_.pop_back();
    return registry_->records_ + calls_.back().record;
  }

  void after_capture() override {
    const Transport::CallScope scope(*registry_->host_, "the capture of a graph");
    compare();
    first_problem(*registry_->host_, problem_);  // throws
    add_memory();
    for (const Call& call : calls_) {
      const fast::Places places = {place(call.in), place(call.out)};
      copy_bytes(registry_->records_ + call.record, registry_->device_, &places, Device::cpu(),
                 sizeof(places));
    }
    Stream::current(registry_->device_).synchronize();  // a launch may be on another stream
  }

 private:
  struct Call {
    std::uint32_t record;
    ConstBufferRef in;
    ConstBufferRef out;
  };

  void compare() const;
  void add_memory();
  /// Not memory that was freed since it was added.
  static const Known* find_in(const std::vector<Known>& all, ConstBufferRef memory) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Known& each) {
      return each.contains(memory) && gpu_allocation_id(memory.data) == each.id;
    });
    return found == all.end() ? nullptr : &*found;
  }
  std::uint64_t place(ConstBufferRef memory) const {
    return find_in(registry_->captured_, memory)->place(memory);
  }

  std::shared_ptr<CudaRegistry> registry_;
  unsigned long long capture_;
  std::vector<Call> calls_;
  Problem problem_ = Problem::none;
  std::int64_t seen_ = 0;
  std::int64_t registered_ = 0;
  Hash kinds_;
};

void CapturedCalls::compare() const {
  struct Summary {
    std::int64_t seen;
    std::int64_t registered;
    std::uint64_t kinds;
  };
  const auto all = gather_objects(*registry_->host_, Summary{seen_, registered_, kinds_.value()});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].kinds == all[0].kinds) continue;
    throw AgreedError(fmt::format(
        "the ranks have captured different allreduces: rank 0 has {} large ones, of which {} on "
        "memory that other processes can map, rank {} has {} and {}; allocate their memory in the "
        "same way on all ranks, as by RegisteredMemory::allocate",
        all[0].seen, all[0].registered, rank, all[rank].seen, all[rank].registered));
  }
}

void CapturedCalls::add_memory() {
  std::vector<Known> added;
  Problem problem = Problem::none;
  for (const Call& call : calls_) {
    for (const ConstBufferRef& memory : {call.in, call.out}) {
      if (find_in(registry_->captured_, memory) != nullptr || find_in(added, memory) != nullptr) {
        continue;
      }
      const auto allocation = gpu_allocation_of(memory.data);
      if (allocation) added.push_back({allocation->begin, allocation->bytes, 0, allocation->id});
      if (find_in(added, memory) == nullptr) problem = Problem::not_on_gpu;
    }
  }
  std::vector<RegisteredTable::Range> ranges;
  for (const Known& each : added) {
    ranges.push_back({const_cast<std::byte*>(each.begin), each.bytes});
  }
  std::string obstacle;
  const RegisteredTable::Added all = registry_->table_.add(ranges, problem, obstacle);
  // Access has been proved with the memory of the communicator. Writing to this memory would
  // disturb other work.
  if (!obstacle.empty()) throw AgreedError("captured allreduces: " + obstacle);
  const auto& mine = all[at(registry_->host_->rank())];
  for (std::size_t i = 0; i < added.size(); ++i) {
    added[i].number = mine[i].number;
    registry_->captured_.push_back(added[i]);
  }
  registry_->mapped_.push_back(all);
}

RegisteredPlaces CudaRegistry::capture(ConstBufferRef in, ConstBufferRef out, void* stream) {
  const RegisteredPlaces registered = find(in, out);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cuda_check(cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(stream), &status, &id),
             "cudaStreamGetCaptureInfo");
  auto calls = capturing_.lock();
  if (calls == nullptr || !calls->is_of(id)) {
    calls = std::make_shared<CapturedCalls>(shared_from_this(), id);
    capturing_ = calls;
  }
  // Others than Graph::capture do not tell when a capture ends.
  if (!add_graph_hook(calls)) return registered;
  const auto can_export = [](ConstBufferRef memory) {
    const auto allocation = gpu_allocation_of(memory.data);
    return allocation && allocation->exportable;
  };
  const bool later = registered.table == nullptr && can_export(in) && can_export(out);
  calls->note(later || registered.table != nullptr);
  if (!later) return registered;
  // Without a record, the capture will fail; the kernel is not launched.
  return {.table = table_.on_gpu(), .in = 0, .out = 0, .captured = calls->reserve(in, out)};
}

}  // namespace

std::shared_ptr<GpuRegistry> GpuRegistry::make(std::shared_ptr<Transport> host, Device device) {
  Buffer<std::byte> memory;
  Problem problem = Problem::none;
  try {
    const std::size_t bytes = CudaRegistry::bytes(host->size());
    memory = Buffer<std::byte>(static_cast<index_t>(bytes), device);
    auto* const stream = static_cast<cudaStream_t>(Stream::current(device).handle());
    cuda_check(cudaMemsetAsync(memory.data(), 0, bytes, stream), "cudaMemsetAsync");
  } catch (const DeviceError&) {
    problem = Problem::no_memory;
  }
  try {
    first_problem(*host, problem);
  } catch (const AgreedError& error) {
    throw CommError(error.what());  // as GpuBoard::make
  }
  return std::make_shared<CudaRegistry>(std::move(host), device, std::move(memory));
}

}  // namespace weft::detail
