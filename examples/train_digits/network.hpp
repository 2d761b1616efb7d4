#pragma once

#include <weft/comm/comm.hpp>
#include <weft/core/buffer.hpp>

#include "train_digits/digits.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace digits {

/// How well a network classifies rows. Sums, which ranks can add up.
struct Score {
  double loss = 0;
  double correct = 0;
  double rows = 0;
};

/// A network 64-128-64-10 with rectifiers, the mean cross-entropy as loss, and all weights in one
/// piece of memory. Weights of equal seeds have equal bits, as have those after equal steps.
class Network {
 public:
  /// Of the inputs, and of the outputs of the three layers.
  static constexpr std::array<index_t, 4> widths = {pixels, 128, 64, classes};
  /// Of all weights and biases.
  static constexpr index_t size = 17'226;

  /// Can process up to `most_rows` rows at a time.
  Network(weft::Device device, index_t most_rows, std::uint64_t seed);

  weft::Buffer<float>& weights() { return weights_; }
  const weft::Buffer<float>& gradient() const { return gradient_; }
  /// Computes the gradient of the mean loss of some rows; `rows` is in memory of the device.
  void compute_gradient(const Digits& digits, const std::int32_t* rows, index_t count);
  /// weights -= rate * step
  void descend(float rate, const weft::Buffer<float>& step);
  /// Blocks the host.
  Score score(const Digits& digits, const std::vector<std::int32_t>& rows);

 private:
  void require_room(index_t count) const;
  /// The activations of some rows; those of the last layer are probabilities.
  void forward(const Digits& digits, const std::int32_t* rows, index_t count);
  void backward(const Digits& digits, const std::int32_t* rows, index_t count);

  weft::Device device_;
  weft::Buffer<float> weights_;
  weft::Buffer<float> gradient_;
  std::array<weft::Buffer<float>, 4> activations_;
  /// Derivatives of the loss by the activations of the two inner layers.
  std::array<weft::Buffer<float>, 2> derivatives_;
  weft::Buffer<std::int32_t> guess_;
  weft::Buffer<std::int32_t> rows_;
};

}  // namespace digits
