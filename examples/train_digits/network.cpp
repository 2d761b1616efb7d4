#include "train_digits/network.hpp"

#include <weft/core/error.hpp>
#include <weft/kernel/dispatch.hpp>

#include "train_digits/network_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace digits {
namespace {

constexpr std::size_t layers = Network::widths.size() - 1;

/// Where the weights and the biases of a layer begin.
struct Place {
  index_t weights = 0;
  index_t bias = 0;
};

constexpr std::array<Place, layers + 1> places = [] {
  std::array<Place, layers + 1> result = {};
  for (std::size_t l = 0; l < layers; ++l) {
    const index_t in = Network::widths[l];
    const index_t out = Network::widths[l + 1];
    result[l].bias = result[l].weights + in * out;
    result[l + 1].weights = result[l].bias + out;
  }
  return result;
}();
static_assert(places[layers].weights == Network::size);

/// Uniform with the variance 2 / inputs, which keeps that of the activations; biases are 0.
std::vector<float> initial_weights(std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(Network::size), 0.0F);
  Random random(seed);
  for (std::size_t l = 0; l < layers; ++l) {
    const double bound = std::sqrt(6.0 / static_cast<double>(Network::widths[l]));
    for (index_t i = places[l].weights; i < places[l].bias; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<float>(bound * (2 * random.uniform() - 1));
    }
  }
  return values;
}

template <class T>
std::vector<T> to_host(const weft::Buffer<T>& buffer, index_t count) {
  std::vector<T> copy(static_cast<std::size_t>(count));
  weft::copy_bytes(copy.data(), weft::Device::cpu(), buffer.data(), buffer.device(),
                   copy.size() * sizeof(T));
  return copy;
}

}  // namespace

Network::Network(weft::Device device, index_t most_rows, std::uint64_t seed)
    : device_(device),
      weights_(size, device),
      gradient_(size, device),
      guess_(most_rows, device),
      rows_(most_rows, device) {
  for (std::size_t l = 0; l <= layers; ++l)
    activations_[l] = weft::Buffer<float>(most_rows * widths[l], device);
  for (std::size_t l = 0; l < derivatives_.size(); ++l)
    derivatives_[l] = weft::Buffer<float>(most_rows * widths[l + 1], device);
  const std::vector<float> start = initial_weights(seed);
  weft::copy_bytes(weights_.data(), device, start.data(), weft::Device::cpu(),
                   start.size() * sizeof(float));
}

void Network::forward(const Digits& digits, const std::int32_t* rows, index_t count) {
  weft::dispatch(device_, [&](auto device) {
    kernels::take_rows(device, count, pixels, rows, digits.images.data(), activations_[0].data());
    for (std::size_t l = 0; l < layers; ++l) {
      kernels::layer(device, count, widths[l], widths[l + 1], activations_[l].data(),
                     weights_.data() + places[l].weights, weights_.data() + places[l].bias,
                     l + 1 < layers, activations_[l + 1].data());
    }
    kernels::softmax(device, count, classes, activations_[layers].data(), guess_.data());
  });
}

void Network::backward(const Digits& digits, const std::int32_t* rows, index_t count) {
  weft::dispatch(device_, [&](auto device) {
    float* dy = activations_[layers].data();
    kernels::softmax_derivative(device, count, classes, rows, digits.labels.data(), dy);
    for (std::size_t l = layers; l-- > 0;) {
      const float* x = activations_[l].data();
      kernels::weight_derivative(device, count, widths[l], widths[l + 1], x, dy,
                                 gradient_.data() + places[l].weights,
                                 gradient_.data() + places[l].bias);
      if (l == 0) break;
      float* dx = derivatives_[l - 1].data();
      kernels::input_derivative(device, count, widths[l], widths[l + 1], x,
                                weights_.data() + places[l].weights, dy, dx);
      dy = dx;
    }
  });
}

void Network::require_room(index_t count) const {
  weft::require(count <= guess_.size(), "Network: got {} rows, built for at most {}", count,
                guess_.size());
}

void Network::compute_gradient(const Digits& digits, const std::int32_t* rows, index_t count) {
  require_room(count);
  forward(digits, rows, count);
  backward(digits, rows, count);
}

void Network::descend(float rate, const weft::Buffer<float>& step) {
  weft::dispatch(device_, [&](auto device) {
    kernels::descend(device, size, rate, step.data(), weights_.data());
  });
}

Score Network::score(const Digits& digits, const std::vector<std::int32_t>& rows) {
  const auto count = static_cast<index_t>(rows.size());
  require_room(count);
  weft::copy_bytes(rows_.data(), device_, rows.data(), weft::Device::cpu(),
                   rows.size() * sizeof(std::int32_t));
  forward(digits, rows_.data(), count);
  const std::vector<float> probabilities = to_host(activations_[layers], count * classes);
  const std::vector<std::int32_t> guesses = to_host(guess_, count);
  Score score{.rows = static_cast<double>(count)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int32_t label = digits.host_labels[static_cast<std::size_t>(rows[i])];
    const double probability =
        probabilities[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(label)];
    score.loss -= std::log(std::max(probability, 1e-30));  // exponential() can return 0
    score.correct += guesses[i] == label ? 1 : 0;
  }
  return score;
}

}  // namespace digits
