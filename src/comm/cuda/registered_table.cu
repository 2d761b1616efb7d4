#include "comm/cuda/registered_table.hpp"

#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include "comm/cuda/export_heap.hpp"
#include "comm/cuda/gpu_allocation.hpp"
#include "comm/gather_objects.hpp"
#include "core/at.hpp"
#include "core/on_error.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::detail {
namespace {

constexpr RegistrationProblem first_that_is_no_error = RegistrationProblem::not_exportable;

const char* describe(RegistrationProblem problem) {
  using enum RegistrationProblem;
  switch (problem) {
    case none: break;
    case is_capturing: return "memory cannot be registered while a graph is captured";
    case not_on_gpu: return "the memory is not on a GPU, or has been freed";
    case beyond_allocation: return "the memory extends beyond its allocation";
    case table_full:
      return "there is no room for more registered memory; end other registrations, or register "
             "fewer and larger parts";
    case records_full:
      return "there is no room for more captured allreduces; destroy other graphs, or register "
             "their memory before they are captured";
    case no_memory: return "there is no GPU memory left";
    case not_exportable:
      return "the memory cannot be exported to other processes; use RegisteredMemory::allocate or "
             "cudaMalloc";
    case too_small: return "the memory is too small for others to access it where it is";
    case cannot_map: return "the memory of another rank cannot be mapped";
    case cannot_access: return "the memory of another rank cannot be accessed";
    case is_invisible: return "what other ranks write to the memory is not seen";
  }
  return "";
}

std::size_t index_of(const RegisteredTable::Offer& offer) {
  return offer.number % fast::max_registered;
}

}  // namespace

std::string first_problem(Transport& host, RegistrationProblem mine) {
  const std::vector<RegistrationProblem> all = gather_objects(host, mine);
  // Errors first, so that all ranks agree whether there is one.
  const auto found = std::min_element(all.begin(), all.end(), [](auto a, auto b) {
    const auto order = [](RegistrationProblem each) {
      return each == RegistrationProblem::none ? 2 : each < first_that_is_no_error ? 0 : 1;
    };
    return order(a) < order(b);
  });
  if (*found == RegistrationProblem::none) return {};
  std::string text = fmt::format("rank {}: {}", found - all.begin(), describe(*found));
  if (*found < first_that_is_no_error) throw AgreedError("registered memory: " + text);
  return text;
}

RegisteredTable::RegisteredTable(Transport& host, Device device, std::byte* memory)
    : host_(host),
      device_(device),
      on_gpu_(reinterpret_cast<fast::RegisteredPart*>(memory)),
      used_(fast::max_registered),
      numbers_(fast::max_registered) {
  std::iota(numbers_.begin(), numbers_.end(), 0U);
}

std::size_t RegisteredTable::bytes(int ranks) {
  return at(ranks) * fast::max_registered * sizeof(fast::RegisteredPart);
}

RegistrationProblem RegisteredTable::make_offers(std::span<const Range> ranges,
                                                 std::vector<Offer>& offers) {
  for (const Range& range : ranges) {
    const auto allocation = gpu_allocation_of(range.begin);
    if (!allocation) return RegistrationProblem::not_on_gpu;
    const auto offset = static_cast<std::size_t>(range.begin - allocation->begin);
    if (range.bytes > allocation->bytes - offset) return RegistrationProblem::beyond_allocation;
    if (!allocation->exportable) return RegistrationProblem::not_exportable;
    const auto free = std::find(used_.begin(), used_.end(), false);
    if (free == used_.end()) return RegistrationProblem::table_full;
    Offer offer;
    offer.offset = offset;
    offer.bytes = range.bytes;
    std::uint32_t& number = numbers_[static_cast<std::size_t>(free - used_.begin())];
    offer.number = number;
    offer.address = range.begin;
    if (cudaIpcGetMemHandle(&offer.handle, allocation->begin) != cudaSuccess) {
      cudaGetLastError();
      return RegistrationProblem::not_exportable;
    }
    *free = true;
    number = (number + fast::max_registered) % fast::place_numbers;
    offers.push_back(offer);
  }
  return RegistrationProblem::none;
}

RegisteredTable::Added RegisteredTable::exchange(const std::vector<Offer>& mine) {
  // Counts first, since ranks may offer different numbers.
  std::vector<index_t> sizes;
  for (const index_t count : gather_objects(host_, static_cast<index_t>(mine.size()))) {
    sizes.push_back(count * static_cast<index_t>(sizeof(Offer)));
  }
  const Parts parts(sizes);
  std::vector<Offer> all(static_cast<std::size_t>(parts.extent()) / sizeof(Offer));
  host_.all_gather(ConstBufferRef(mine.data(), parts.count(host_.rank()), DType::u8, Device::cpu()),
                   BufferRef(all.data(), parts.extent(), DType::u8, Device::cpu()), parts,
                   CallMode::blocking);
  Added added(at(host_.size()));
  auto next = all.begin();
  for (int rank = 0; rank < host_.size(); ++rank) {
    const auto end = next + sizes[at(rank)] / static_cast<index_t>(sizeof(Offer));
    added[at(rank)].assign(next, end);
    next = end;
  }
  return added;
}

RegistrationProblem RegisteredTable::map(Added& added) {
  for (int rank = 0; rank < host_.size(); ++rank) {
    if (rank == host_.rank()) continue;  // a process cannot map its own memory
    for (Offer& offer : added[at(rank)]) {
      std::byte* begin = nullptr;
      if (ExportHeap::instance().map(offer.handle, begin) != cudaSuccess) {
        return RegistrationProblem::cannot_map;
      }
      offer.mapped = true;
      offer.address = begin + offer.offset;
    }
  }
  return RegistrationProblem::none;
}

void RegisteredTable::store(const Added& added, bool present) {
  for (int rank = 0; rank < host_.size(); ++rank) {
    for (const Offer& offer : added[at(rank)]) {
      fast::RegisteredPart memory;
      if (present) memory = {offer.address, offer.bytes, offer.number};
      copy_bytes(on_gpu_ + rank * fast::max_registered + index_of(offer), device_, &memory,
                 Device::cpu(), sizeof(memory));
    }
  }
  // Kernels on other streams may use it next.
  Stream::current(device_).synchronize();
}

void RegisteredTable::release(Added& added) noexcept {
  for (int rank = 0; rank < host_.size(); ++rank) {
    for (const Offer& offer : added[at(rank)]) {
      if (rank == host_.rank()) used_[index_of(offer)] = false;
      if (offer.mapped) ExportHeap::instance().unmap(offer.handle);
    }
  }
  added.clear();
}

RegisteredTable::Added RegisteredTable::add(std::span<const Range> ranges,
                                            RegistrationProblem problem, std::string& obstacle) {
  Added added(at(host_.size()));
  std::vector<Offer>& mine = added[at(host_.rank())];
  const OnError guard([&] { release(added); });
  if (problem == RegistrationProblem::none) problem = make_offers(ranges, mine);
  obstacle = first_problem(host_, problem);
  if (obstacle.empty()) {
    added = exchange(mine);
    obstacle = first_problem(host_, map(added));
  }
  if (obstacle.empty()) {
    store(added, true);
  } else {
    release(added);
  }
  return added;
}

void RegisteredTable::remove(Added& added) {
  store(added, false);
  release(added);
}

}  // namespace weft::detail
