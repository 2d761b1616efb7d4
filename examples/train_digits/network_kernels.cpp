// Compiled once per device: by the C++ compiler for the CPU and by nvcc for the GPU. Sums run in
// the order of their index, and nothing depends on a mathematical library or on contraction (see
// CMakeLists.txt), so that all devices compute the same bits.

#include "train_digits/network_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include <bit>

namespace kernels {
namespace {

/// exp(x) for x <= 0, to 1e-7 relative: 2^n exp(r) with |r| <= ln(2) / 2.
WEFT_FUNCTION inline float exponential(float x) {
  if (x < -80.0F) return 0.0F;
  const auto n = static_cast<std::int32_t>(x * 1.44269504F - 0.5F);
  const auto whole = static_cast<float>(n);
  const float r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;  // ln(2) in two parts
  float sum = 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  // The exponent field of a float; n > -117 keeps it positive.
  const auto power = static_cast<std::uint32_t>(n + 127) << 23U;
#if defined(__CUDA_ARCH__)
  return sum * __uint_as_float(power);
#else
  return sum * std::bit_cast<float>(power);
#endif
}

}  // namespace

template <class Device>
void take_rows(Device device, index_t rows, index_t width, const std::int32_t* which,
               const float* table, float* out) {
  weft::for_each(device, rows, 1, width, [=] WEFT_KERNEL(index_t r, index_t, index_t k) {
    out[r * width + k] = table[which[r] * width + k];
  });
}

template <class Device>
void layer(Device device, index_t rows, index_t inputs, index_t outputs, const float* x,
           const float* w, const float* bias, bool rectify, float* y) {
  weft::for_each(device, rows, 1, outputs, [=] WEFT_KERNEL(index_t r, index_t, index_t o) {
    float sum = bias[o];
    for (index_t i = 0; i < inputs; ++i) sum += x[r * inputs + i] * w[i * outputs + o];
    y[r * outputs + o] = rectify && !(sum > 0.0F) ? 0.0F : sum;
  });
}

template <class Device>
void softmax(Device device, index_t rows, index_t classes, float* logits, std::int32_t* guess) {
  weft::for_each(device, rows, [=] WEFT_KERNEL(index_t r) {
    float* row = logits + r * classes;
    index_t largest = 0;
    for (index_t c = 1; c < classes; ++c) largest = row[c] > row[largest] ? c : largest;
    guess[r] = static_cast<std::int32_t>(largest);
    const float top = row[largest];
    float total = 0;
    for (index_t c = 0; c < classes; ++c) {
      row[c] = exponential(row[c] - top);
      total += row[c];
    }
    for (index_t c = 0; c < classes; ++c) row[c] /= total;
  });
}

template <class Device>
void softmax_derivative(Device device, index_t rows, index_t classes, const std::int32_t* which,
                        const std::int32_t* labels, float* probabilities) {
  const float share = 1.0F / static_cast<float>(rows);
  weft::for_each(device, rows, 1, classes, [=] WEFT_KERNEL(index_t r, index_t, index_t c) {
    const float target = labels[which[r]] == c ? 1.0F : 0.0F;
    probabilities[r * classes + c] = share * (probabilities[r * classes + c] - target);
  });
}

template <class Device>
void weight_derivative(Device device, index_t rows, index_t inputs, index_t outputs, const float* x,
                       const float* dy, float* dw, float* dbias) {
  weft::for_each(device, inputs, 1, outputs, [=] WEFT_KERNEL(index_t i, index_t, index_t o) {
    float sum = 0;
    for (index_t r = 0; r < rows; ++r) sum += x[r * inputs + i] * dy[r * outputs + o];
    dw[i * outputs + o] = sum;
  });
  weft::for_each(device, outputs, [=] WEFT_KERNEL(index_t o) {
    float sum = 0;
    for (index_t r = 0; r < rows; ++r) sum += dy[r * outputs + o];
    dbias[o] = sum;
  });
}

template <class Device>
void input_derivative(Device device, index_t rows, index_t inputs, index_t outputs, const float* x,
                      const float* w, const float* dy, float* dx) {
  weft::for_each(device, rows, 1, inputs, [=] WEFT_KERNEL(index_t r, index_t, index_t i) {
    float sum = 0;
    for (index_t o = 0; o < outputs; ++o) sum += dy[r * outputs + o] * w[i * outputs + o];
    dx[r * inputs + i] = x[r * inputs + i] > 0.0F ? sum : 0.0F;
  });
}

template <class Device>
void descend(Device device, index_t n, float rate, const float* step, float* w) {
  weft::for_each(device, n, [=] WEFT_KERNEL(index_t i) { w[i] -= rate * step[i]; });
}

using weft::index_t;
using Tag = WEFT_THIS_DEVICE;
template void take_rows(Tag, index_t, index_t, const std::int32_t*, const float*, float*);
template void layer(Tag, index_t, index_t, index_t, const float*, const float*, const float*, bool,
                    float*);
template void softmax(Tag, index_t, index_t, float*, std::int32_t*);
template void softmax_derivative(Tag, index_t, index_t, const std::int32_t*, const std::int32_t*,
                                 float*);
template void weight_derivative(Tag, index_t, index_t, index_t, const float*, const float*, float*,
                                float*);
template void input_derivative(Tag, index_t, index_t, index_t, const float*, const float*,
                               const float*, float*);
template void descend(Tag, index_t, float, const float*, float*);

}  // namespace kernels
