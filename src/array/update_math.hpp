#pragma once

// How kernels update their output; for *_kernels.cpp files only. The update is chosen before the
// loop, so that the output is not read if beta is zero.

#include "kernel/kernel_math.hpp"

namespace weft::kernels {

/// y = alpha value
template <class T>
struct Assigned {
  T alpha;
  template <class V>
  WEFT_FUNCTION void operator()(V value, T& y) const {
    y = alpha * value;
  }
};

/// y = alpha value + beta y
template <class T>
struct Blended {
  T alpha;
  T beta;
  template <class V>
  WEFT_FUNCTION void operator()(V value, T& y) const {
    y = alpha * value + beta * y;
  }
};

/// Calls run(put), where put(value, y) updates y with alpha and beta.
template <class T, class F>
void with_update(T alpha, T beta, F run) {
  if (is_nonzero(beta)) {
    run(Blended<T>{alpha, beta});
  } else {
    run(Assigned<T>{alpha});
  }
}

}  // namespace weft::kernels
