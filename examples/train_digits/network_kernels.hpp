#pragma once

#include <weft/core/shape.hpp>

#include <cstdint>

/// The loops of a network, over rows: one row per digit. Weights are [inputs, outputs].
namespace kernels {

using weft::index_t;

/// out[r] = table[which[r]] for rows of `width` numbers.
template <class Device>
void take_rows(Device device, index_t rows, index_t width, const std::int32_t* which,
               const float* table, float* out);

/// y = x w + bias; with `rectify`, negative values become 0.
template <class Device>
void layer(Device device, index_t rows, index_t inputs, index_t outputs, const float* x,
           const float* w, const float* bias, bool rectify, float* y);

/// Replaces the logits of each row by its probabilities. `guess` is the most probable class.
template <class Device>
void softmax(Device device, index_t rows, index_t classes, float* logits, std::int32_t* guess);

/// The derivative of the mean cross-entropy by the logits, in place of the probabilities.
template <class Device>
void softmax_derivative(Device device, index_t rows, index_t classes, const std::int32_t* which,
                        const std::int32_t* labels, float* probabilities);

/// dw = xᵀ dy and dbias = the sum of the rows of dy.
template <class Device>
void weight_derivative(Device device, index_t rows, index_t inputs, index_t outputs, const float* x,
                       const float* dy, float* dw, float* dbias);

/// dx = dy wᵀ where x, the output of the rectifier, is positive; 0 elsewhere.
template <class Device>
void input_derivative(Device device, index_t rows, index_t inputs, index_t outputs, const float* x,
                      const float* w, const float* dy, float* dx);

/// w -= rate * step
template <class Device>
void descend(Device device, index_t n, float rate, const float* step, float* w);

}  // namespace kernels
