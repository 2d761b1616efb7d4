#include "solve/solver_state.hpp"

#include <fmt/core.h>

#include "core/hash.hpp"
#include "io/box_file.hpp"

#include <cmath>
#include <cstring>

namespace weft::detail {
namespace {

class Collector final : public StateVisitor {
 public:
  explicit Collector(SolverState& state) : state_(state) {}

  void visit(std::string_view name, const ArrayView<float>& x) override { add(name, x); }
  void visit(std::string_view name, const ArrayView<double>& x) override { add(name, x); }
  void visit(std::string_view name, const ArrayView<std::complex<float>>& x) override {
    add(name, x);
  }
  void visit(std::string_view name, const ArrayView<std::complex<double>>& x) override {
    add(name, x);
  }
  void visit(std::string_view name, BufferRef numbers, index_t common) override {
    state_.numbers.push_back({std::string(name), numbers, common});
  }
  void visit(std::string_view name, index_t& number) override {
    state_.integers.push_back({std::string(name), &number});
  }

 private:
  template <Scalar T>
  void add(std::string_view name, const ArrayView<T>& x) {
    add_leaves(state_.arrays, std::string(name), x);
  }

  SolverState& state_;
};

/// A pseudo-random weight from -1 to 1.
double weight_of(index_t place) {
  const auto bits = mix_checksum_bits(static_cast<std::uint64_t>(place) + 1) >> 11;
  return static_cast<double>(bits) * 0x1p-52 - 1;
}

template <class R>
ArrayFingerprint fingerprint_of(const StateArray& array) {
  const index_t parts = size_of(array.dtype) / index_t{sizeof(R)};
  const HostCopy host(array.data, array.layout.device(),
                      array.layout.local_count() * size_of(array.dtype));
  const auto* values = reinterpret_cast<const R*>(host.data());
  ArrayFingerprint fingerprint;
  for_each_run(
      array.layout.shape(), array.layout.box(), [&](index_t place, index_t first, index_t count) {
        for (index_t i = 0; i < count * parts; ++i) {
          const auto value = static_cast<double>(values[first * parts + i]);
          fingerprint.norm += value * value;  // the square, until all ranks have added theirs
          fingerprint.sum += weight_of(place * parts + i) * value;
        }
      });
  return fingerprint;
}

template <class Word>
std::uint64_t sum_of_words(const std::byte* data, index_t bytes, index_t place) {
  std::uint64_t sum = 0;
  for (index_t at = 0; at < bytes; at += index_t{sizeof(Word)}) {
    Word word{};
    std::memcpy(&word, data + at, sizeof(Word));
    const auto key = static_cast<std::uint64_t>(place + at) * golden_ratio_bits;
    sum += mix_checksum_bits(mix_checksum_bits(word) + key + 1);
  }
  return sum;
}

template <Scalar T, class View>
void collect(std::vector<StateArray>& leaves, const std::string& name, const View& x) {
  if (!x.layout().is_stack()) {
    void* writable = nullptr;
    if constexpr (std::same_as<View, ArrayView<T>>) writable = x.data();
    leaves.push_back({name, dtype_of<T>, x.layout(), x.data(), writable});
    return;
  }
  for (int index = 0; index < x.layout().part_count(); ++index) {
    collect<T>(leaves, fmt::format("{}[{}]", name, index), x.part(index));
  }
}

}  // namespace

SolverState::SolverState(AnySolver& solver) {
  Collector collector(*this);
  solver.visit_state(collector);
}

template <Scalar T>
void add_leaves(std::vector<StateArray>& leaves, const std::string& name,
                const ConstArrayView<T>& x) {
  collect<T>(leaves, name, x);
}

template <Scalar T>
void add_leaves(std::vector<StateArray>& leaves, const std::string& name, const ArrayView<T>& x) {
  collect<T>(leaves, name, x);
}

HostCopy::HostCopy(const void* data, Device device, index_t bytes)
    : data_(static_cast<const std::byte*>(data)) {
  if (device.host_accessible() || bytes == 0) return;
  copy_.resize(static_cast<std::size_t>(bytes));
  copy_bytes(copy_.data(), Device::cpu(), data, device, copy_.size());
  data_ = copy_.data();
}

std::uint64_t partition_hash(const std::vector<StateArray>& arrays) {
  std::uint64_t result = 0;
  const auto add = [&](index_t number) {
    result = mix_checksum_bits(result + golden_ratio_bits + static_cast<std::uint64_t>(number));
  };
  for (const StateArray& array : arrays) {
    add(array.layout.comm().size());
    for (int rank = 0; rank < array.layout.comm().size(); ++rank) {
      const Box& box = array.layout.box(rank);
      for (const index_t number : box.offset) add(number);
      for (const index_t number : box.shape) add(number);
    }
  }
  return result;
}

std::vector<ArrayFingerprint> fingerprints_of(const Comm& comm,
                                              const std::vector<StateArray>& arrays) {
  std::vector<double> sums;
  for (const StateArray& array : arrays) {
    const bool is_single = array.dtype == DType::f32 || array.dtype == DType::c64;
    ArrayFingerprint mine;
    if (array.counts_here())
      mine = is_single ? fingerprint_of<float>(array) : fingerprint_of<double>(array);
    sums.push_back(mine.norm);
    sums.push_back(mine.sum);
  }
  comm.allreduce(sums);
  std::vector<ArrayFingerprint> all;
  for (std::size_t i = 0; i < sums.size(); i += 2) {
    all.push_back({.norm = std::sqrt(sums[i]), .sum = sums[i + 1]});
  }
  return all;
}

std::uint64_t checksum_of(const void* data, index_t bytes, index_t word, index_t place) {
  const auto* first = static_cast<const std::byte*>(data);
  return word == 4 ? sum_of_words<std::uint32_t>(first, bytes, place)
                   : sum_of_words<std::uint64_t>(first, bytes, place);
}

#define INSTANTIATE(T)                                                   \
  template void add_leaves(std::vector<StateArray>&, const std::string&, \
                           const ConstArrayView<T>&);                    \
  template void add_leaves(std::vector<StateArray>&, const std::string&, const ArrayView<T>&);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
