#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>

#include "core/option_checks.hpp"
#include "sparse_allreduce/presets.hpp"
#include "sparse_allreduce/slots.hpp"
#include "sparse_allreduce/slots_selection.hpp"
#include "sparse_allreduce/sparse_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::detail {
namespace {

constexpr const char* class_name = "SparseAllreduce";
constexpr index_t most_elements = index_t{1} << 48;  // n times the number of ranks is computed
constexpr auto largest_32 = index_t{std::numeric_limits<std::uint32_t>::max()};

void check_constants(const OktopkConstants& c) {
  require(c.local_period >= 1 && c.global_period >= 1 && c.region_period >= 1,
          "{}: the periods of oktopk must be at least 1, got {}, {} and {}", class_name,
          c.local_period, c.global_period, c.region_period);
  require(c.raise_steps >= 0, "{}: oktopk.raise_steps is {}, but must not be negative", class_name,
          c.raise_steps);
  require(c.block >= 1, "{}: oktopk.block is {}, but must be at least 1", class_name, c.block);
  for (const double factor :
       {c.raise_factor, c.local_factor, c.global_down, c.global_up, c.imbalance}) {
    require(std::isfinite(factor) && factor >= 1,
            "{}: the factors of oktopk must be finite and at least 1, got {}", class_name, factor);
  }
  for (const double bound :
       {c.raise_above, c.local_low, c.local_high, c.global_low, c.global_high}) {
    require_positive(bound, class_name, "a bound of oktopk");
  }
  require_enumerator(c.partition, SparsePartition::block_cyclic, class_name, "partition");
  require_enumerator(c.balance, SparseBalance::by_imbalance, class_name, "balance");
}

}  // namespace

void check_sparse_options(index_t n, const SparseOptions& o) {
  require(n >= 1 && n <= most_elements, "{}: n is {}, but must be from 1 to {}", class_name, n,
          most_elements);
  find_preset(o.algorithm);
  if (!o.selector.empty()) find_selector(o.selector);
  require(std::isfinite(o.density) && o.density > 0 && o.density <= 1,
          "{}: density is {}, but must be above 0 and at most 1", class_name, o.density);
  require(o.dtype <= DType::f64, "{}: the elements must be f16, bf16, f32 or f64, got {}",
          class_name, o.dtype);
  require(o.op == ReduceOp::sum || o.op == ReduceOp::avg, "{}: op must be sum or avg, got {}",
          class_name, o.op);
  require_available(o.device);
  require(o.chunk >= 1, "{}: chunk is {}, but must be at least 1", class_name, o.chunk);
  require(o.capacity >= 0, "{}: capacity is {}, but must be at least 1, or 0 for the default",
          class_name, o.capacity);
  require(o.check_every >= 0, "{}: check_every is {}, but must not be negative", class_name,
          o.check_every);
  require(o.dense_calls >= 0, "{}: dense_calls is {}, but must not be negative", class_name,
          o.dense_calls);
  require(std::isfinite(o.decay) && o.decay >= 0 && o.decay <= 1,
          "{}: decay is {}, but must be between 0 and 1", class_name, o.decay);
  require(o.index_bits == 0 || o.index_bits == 32 || o.index_bits == 64,
          "{}: index_bits is {}, but must be 32, 64 or 0", class_name, o.index_bits);
  require(o.index_bits != 32 || n - 1 <= largest_32,
          "{}: indices below {} do not fit into 32 bits; use index_bits = 64", class_name, n);
  require_enumerator(o.exchange, SparseExchange::slots, class_name, "exchange");
  require_enumerator(o.gtopk, GtopkResidual::classic, class_name, "residual rule of gtopk");
  check_constants(o.oktopk);
  for (const double cost : {o.costs.message, o.costs.byte, o.costs.selected_byte}) {
    require(std::isfinite(cost) && cost >= 0, "{}: costs must be finite and not negative, got {}",
            class_name, cost);
  }
}

kernels::PairTypes pair_types(index_t n, const SparseOptions& options) {
  return {options.dtype, options.index_bits == 64 || n - 1 > largest_32};
}

index_t selected_elements(index_t n, double density) {
  const auto k = static_cast<index_t>(static_cast<double>(n) * density);
  return std::clamp<index_t>(k, 1, n);
}

void allocate(SparseContext& c) {
  const Device device = c.device();
  const auto ranks = static_cast<index_t>(c.ranks());
  c.state.residual = Buffer<std::byte>(c.n * c.work_bytes(), device);
  c.sum = Buffer<std::byte>(c.n * c.work_bytes(), device);
  c.control = Buffer<SparseControl>(1, device);
  c.histogram = Buffer<index_t>(kernels::histogram_rows * kernels::digit_values, device);
  c.offsets = Buffer<index_t>(ranks + 1, device);
  c.boundaries = Buffer<index_t>(ranks + 1, device);
  const index_t k = selected_elements(c.n, c.options.density);
  reserve(c, c.picked, k);
  reserve(c, c.other, k);
  write_to(c, c.control.data(), SparseControl());
  run_on(c, [&](auto tag) { kernels::clear(tag, c.types.work(), c.n, c.state.residual.data()); });
}

namespace {

/// Longer lists and their pairs, and slots.
index_t bytes_in_slots(int ranks, index_t n, const SparseOptions& options) {
  SparseContext c(Comm::self(), n, options);
  c.k = selected_elements(n, options.density);
  const kernels::PairTypes types = pair_types(n, options);
  const index_t room = room_of_lists(c, ranks);
  index_t bytes = 2 * (room - c.k) * (size_of(types.work()) + index_t{sizeof(index_t)});
  bytes += 3 * (room - c.k) * types.bytes();
  const bool has_owners = find_preset(options.algorithm).run != run_topka &&
                          find_preset(options.algorithm).run != run_topka2;
  const index_t capacity = slot_capacity(c, has_owners ? ranks : 1);
  const index_t slots = has_owners ? 3 * index_t{ranks} + 1 : index_t{ranks} + 1;
  return bytes + slots * (capacity * types.bytes() + 2 * index_t{sizeof(kernels::SlotHeader)});
}

}  // namespace

index_t sparse_workspace_bytes(int ranks, index_t n, const SparseOptions& options) {
  check_sparse_options(n, options);
  require(ranks >= 1, "{}::workspace_bytes: there are {} ranks", class_name, ranks);
  const kernels::PairTypes types = pair_types(n, options);
  const index_t work = size_of(types.work());
  const index_t k = selected_elements(n, options.density);
  const index_t chunks = kernels::selection_chunks(n);
  const index_t list_entry = work + index_t{sizeof(index_t)};
  index_t bytes = 2 * n * work;  // residual and sums
  bytes +=
      chunks * (kernels::staged_per_chunk * list_entry + index_t{sizeof(kernels::BadElements)});
  bytes += 3 * kernels::selection_tiles(n) * index_t{sizeof(index_t)};
  bytes += 2 * k * list_entry;
  bytes += k * types.bytes() * (ranks + 4);  // pairs of this rank, and of all ranks
  const bool in_slots = options.exchange == SparseExchange::slots;
  if (in_slots && find_preset(options.algorithm).has_slots) {
    bytes += bytes_in_slots(ranks, n, options);
  }
  bytes += kernels::histogram_rows * kernels::digit_values * index_t{sizeof(index_t)};
  bytes += 2 * (index_t{ranks} + 1) * index_t{sizeof(index_t)} + index_t{sizeof(SparseControl)};
  return bytes;
}

}  // namespace weft::detail
