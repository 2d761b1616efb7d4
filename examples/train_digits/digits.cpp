#include "train_digits/digits.hpp"

#include <weft/array/layout.hpp>
#include <weft/core/error.hpp>
#include <weft/io/npy.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace digits {
namespace {

constexpr index_t columns = pixels + 1;

template <class T>
weft::Buffer<T> on_device(const std::vector<T>& values, weft::Device device) {
  weft::Buffer<T> copy(static_cast<index_t>(values.size()), device);
  weft::copy_bytes(copy.data(), device, values.data(), weft::Device::cpu(),
                   values.size() * sizeof(T));
  return copy;
}

/// Why a file is not the one of the digits, or an empty text.
std::string complaint_about(const std::string& path) {
  const auto with_advice = [](const std::string& text) {
    return text + "; examples/data/export-digits writes the file, and --data gives its path";
  };
  try {
    const weft::NpyInfo info = weft::npy_info(path);
    if (info.shape.ndim() == 2 && info.shape[1] == columns && info.dtype == weft::DType::u8) {
      return {};
    }
    return with_advice(fmt::format("{} must have {} columns of bytes", path, columns));
  } catch (const weft::Error& error) {
    return with_advice(error.what());
  }
}

}  // namespace

void Random::shuffle(std::vector<std::int32_t>& values) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[engine_() % i]);
}

Digits read_digits(const weft::Comm& world, const std::string& path) {
  world.agree(complaint_about(path));
  const weft::Shape shape = weft::npy_info(path).shape;
  const auto table =
      weft::read_npy<float>(path, weft::Layout::replicated(world, shape).on(weft::Device::cpu()));
  const float* row = table.data();
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  for (index_t i = 0; i < shape[0]; ++i, row += columns) {
    std::transform(row, row + pixels, std::back_inserter(images),
                   [](float pixel) { return pixel / 16; });
    labels.push_back(static_cast<std::int32_t>(row[pixels]));
    weft::require(labels.back() < classes, "read_digits: row {} of {} has the label {}, not 0 to 9",
                  i, path, labels.back());
  }
  return {shape[0], on_device(images, world.device()), on_device(labels, world.device()), labels};
}

Shard shard_of(index_t count, int rank, int ranks, std::uint64_t seed) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random(seed).shuffle(order);
  const auto tests = static_cast<std::size_t>(count / 5);
  const auto step = static_cast<std::size_t>(ranks);
  const std::size_t each = (order.size() - tests) / step;
  Shard shard;
  for (auto i = static_cast<std::size_t>(rank); i < tests; i += step)
    shard.test.push_back(order[i]);
  for (std::size_t i = 0; i < each; ++i)
    shard.train.push_back(order[tests + i * step + static_cast<std::size_t>(rank)]);
  return shard;
}

}  // namespace digits
