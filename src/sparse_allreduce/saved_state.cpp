#include <weft/comm/format.hpp>
#include <weft/core/error.hpp>

#include "core/hash.hpp"
#include "sparse_allreduce/sparse_engine.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace weft::detail {
namespace {

constexpr std::uint64_t magic = 0x3153505354464557U;  // "WEFTSPS1"

/// What a saved state belongs to, before its contents: header, boundaries, residual, checksum.
struct StateHeader {
  std::uint64_t magic_number = magic;
  std::uint64_t algorithm = 0;
  index_t n = 0;
  index_t dtype = 0;
  index_t ranks = 0;
  index_t rank = 0;
  index_t calls = 0;
  double local_threshold = 0;
  double global_threshold = 0;
  index_t boundaries = 0;
};

std::uint64_t algorithm_hash(const SparseOptions& options) {
  return Hash().add(options.algorithm).add(options.selector).value();
}

std::uint64_t checksum(const std::byte* data, std::size_t bytes) {
  Hash hash;
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < bytes; at += sizeof(word)) {
    word = 0;
    std::memcpy(&word, data + at, std::min(sizeof(word), bytes - at));
    hash.add(word);
  }
  return hash.value();
}

std::size_t residual_bytes(const SparseContext& context) {
  return static_cast<std::size_t>(context.n * context.work_bytes());
}

void check_header(const SparseContext& c, const StateHeader& header) {
  constexpr const char* who = "SparseAllreduce::load";
  require(header.magic_number == magic, "{}: this is not a state of a SparseAllreduce", who);
  require(header.n == c.n, "{}: the state is of {} elements, but the object of {}", who, header.n,
          c.n);
  require(header.dtype == static_cast<index_t>(c.types.value),
          "{}: the state is of another type of elements than {}", who, c.types.value);
  require(header.ranks == c.ranks() && header.rank == c.comm.rank(),
          "{}: the state is of rank {} of {}, but this is rank {} of {}", who, header.rank,
          header.ranks, c.comm.rank(), c.ranks());
  require(header.algorithm == algorithm_hash(c.options),
          "{}: the state is of another algorithm or selector than {}", who, c.options.algorithm);
}

}  // namespace

std::vector<std::byte> save_state(const SparseContext& c) {
  StateHeader header;
  header.algorithm = algorithm_hash(c.options);
  header.n = c.n;
  header.dtype = static_cast<index_t>(c.types.value);
  header.ranks = c.ranks();
  header.rank = c.comm.rank();
  header.calls = c.state.calls;
  header.local_threshold = c.state.local_threshold;
  header.global_threshold = c.state.global_threshold;
  header.boundaries = static_cast<index_t>(c.state.boundaries.size());
  const std::size_t boundary_bytes = c.state.boundaries.size() * sizeof(index_t);
  const std::size_t content = sizeof(header) + boundary_bytes + residual_bytes(c);
  std::vector<std::byte> bytes(content + sizeof(std::uint64_t));
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (boundary_bytes > 0) {
    std::memcpy(bytes.data() + sizeof(header), c.state.boundaries.data(), boundary_bytes);
  }
  copy_bytes(bytes.data() + sizeof(header) + boundary_bytes, Device::cpu(), c.state.residual.data(),
             c.device(), residual_bytes(c));
  const std::uint64_t sum = checksum(bytes.data(), content);
  std::memcpy(bytes.data() + content, &sum, sizeof(sum));
  return bytes;
}

SparseState parse_state(const SparseContext& c, const std::vector<std::byte>& bytes) {
  constexpr const char* who = "SparseAllreduce::load";
  StateHeader header;
  require(bytes.size() >= sizeof(header) + sizeof(std::uint64_t),
          "{}: the state has {} bytes, fewer than its header", who, bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(header));
  check_header(c, header);
  require(header.boundaries == 0 || header.boundaries == c.ranks() + 1,
          "{}: the state is damaged: {} boundaries of regions", who, header.boundaries);
  const std::size_t boundary_bytes = static_cast<std::size_t>(header.boundaries) * sizeof(index_t);
  const std::size_t content = sizeof(header) + boundary_bytes + residual_bytes(c);
  require(bytes.size() == content + sizeof(std::uint64_t),
          "{}: the state is damaged: {} bytes instead of {}", who, bytes.size(),
          content + sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + content, sizeof(sum));
  require(sum == checksum(bytes.data(), content), "{}: the state is damaged: its checksum differs",
          who);

  SparseState state;
  state.calls = header.calls;
  state.local_threshold = header.local_threshold;
  state.global_threshold = header.global_threshold;
  state.boundaries.resize(static_cast<std::size_t>(header.boundaries));
  if (boundary_bytes > 0) {
    std::memcpy(state.boundaries.data(), bytes.data() + sizeof(header), boundary_bytes);
  }
  state.residual = Buffer<std::byte>(c.n * c.work_bytes(), c.device());
  copy_bytes(state.residual.data(), c.device(), bytes.data() + sizeof(header) + boundary_bytes,
             Device::cpu(), residual_bytes(c));
  return state;
}

}  // namespace weft::detail
