#pragma once

#include <weft/core/buffer.hpp>

#include "comm/cuda/fast_allreduce.cuh"
#include "comm/transport.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// Why memory cannot be registered.
enum class RegistrationProblem : std::int32_t {
  none,
  // Errors
  is_capturing,
  not_on_gpu,
  beyond_allocation,
  table_full,
  records_full,
  no_memory,
  // Memory that travels in another way
  not_exportable,
  too_small,
  cannot_map,
  cannot_access,
  is_invisible,
};
/// "rank 2: ..." for the first rank that has a problem; empty if none has. Throws an AgreedError if
/// it is an error. Collective.
std::string first_problem(Transport& host, RegistrationProblem mine);

/// The registered memory of all ranks of a communicator, on the GPU: Team::registered.
class RegisteredTable {
 public:
  struct Range {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
  };
  /// Memory of one rank, as others find and map it.
  struct Offer {
    cudaIpcMemHandle_t handle = {};
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;
    bool mapped = false;           // by this rank
    std::byte* address = nullptr;  // where this rank has mapped it
  };
  /// What all ranks have added together, by rank.
  using Added = std::vector<std::vector<Offer>>;

  /// `memory` is zero: see bytes().
  RegisteredTable(Transport& host, Device device, std::byte* memory);
  RegisteredTable(const RegisteredTable&) = delete;
  RegisteredTable& operator=(const RegisteredTable&) = delete;

  static std::size_t bytes(int ranks);
  const fast::RegisteredPart* on_gpu() const { return on_gpu_; }

  /// Collective; ranks may add different numbers of ranges, each within one allocation. Returns
  /// nothing, and sets `obstacle` on all ranks, if one of them cannot export or map memory. Throws
  /// an AgreedError if a table is full.
  Added add(std::span<const Range> ranges, RegistrationProblem problem, std::string& obstacle);
  /// When no rank uses the memory any more.
  void remove(Added& added);
  /// The same when this table is not used any more.
  void release(Added& added) noexcept;

 private:
  RegistrationProblem make_offers(std::span<const Range> ranges, std::vector<Offer>& offers);
  Added exchange(const std::vector<Offer>& mine);
  RegistrationProblem map(Added& added);
  void store(const Added& added, bool present);

  Transport& host_;
  Device device_;
  fast::RegisteredPart* on_gpu_;
  std::vector<bool> used_;              // places in the table that this rank uses
  std::vector<std::uint32_t> numbers_;  // of the next registration at each place
};

}  // namespace weft::detail
