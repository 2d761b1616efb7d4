#include "comm/reduction.hpp"

#include <weft/core/complex.hpp>
#include <weft/core/error.hpp>
#include <weft/core/scalars.hpp>

#include <algorithm>
#include <type_traits>

namespace weft::detail {
namespace {

struct Sum {
  template <class A>
  A operator()(A a, A b) const {
    return static_cast<A>(a + b);
  }
};
struct Product {
  template <class A>
  A operator()(A a, A b) const {
    return static_cast<A>(a * b);
  }
};
struct Minimum {
  template <class A>
  A operator()(A a, A b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class A>
  A operator()(A a, A b) const {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <class A>
  A operator()(A a, A b) const {
    return static_cast<A>(a & b);
  }
};
struct BitOr {
  template <class A>
  A operator()(A a, A b) const {
    return static_cast<A>(a | b);
  }
};
struct BitXor {
  template <class A>
  A operator()(A a, A b) const {
    return static_cast<A>(a ^ b);
  }
};

template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// What elements of type T are combined in.
template <class T>
using Wide = std::conditional_t<is_small_float<T>, float, T>;

template <class T, class Op>
void combine_typed(Op op, std::span<const void* const> inputs, std::span<void* const> outputs,
                   index_t count) {
  if constexpr (!is_small_float<T>) {
    // Two ranks are the common case, and worth a single pass over memory.
    if (inputs.size() == 2 && outputs.size() <= 2) {
      const T* a = static_cast<const T*>(inputs[0]);
      const T* b = static_cast<const T*>(inputs[1]);
      T* first = static_cast<T*>(outputs.front());
      T* last = static_cast<T*>(outputs.back());
#pragma omp simd
      for (index_t i = 0; i < count; ++i) {
        const T value = op(a[i], b[i]);
        first[i] = value;
        last[i] = value;
      }
      return;
    }
  }
  constexpr index_t chunk = 4096 / static_cast<index_t>(sizeof(Wide<T>));
  Wide<T> value[chunk];
  for (index_t begin = 0; begin < count; begin += chunk) {
    const index_t n = std::min(chunk, count - begin);
    const T* first = static_cast<const T*>(inputs[0]) + begin;
    for (index_t i = 0; i < n; ++i) value[i] = static_cast<Wide<T>>(first[i]);
    for (const void* input : inputs.subspan(1)) {
      const T* next = static_cast<const T*>(input) + begin;
      for (index_t i = 0; i < n; ++i) value[i] = op(value[i], static_cast<Wide<T>>(next[i]));
    }
    for (void* output : outputs) {
      T* to = static_cast<T*>(output) + begin;
      for (index_t i = 0; i < n; ++i) to[i] = static_cast<T>(value[i]);
    }
  }
}

/// Calls f with the function object of an op that T has.
template <class T, class F>
void with_op(ReduceOp op, F f) {
  constexpr bool complex = !std::is_same_v<T, KernelType<T>>;
  switch (op) {
    case ReduceOp::sum: return f(Sum{});
    case ReduceOp::prod: return f(Product{});
    case ReduceOp::min:
      if constexpr (!complex) return f(Minimum{});
      break;
    case ReduceOp::max:
      if constexpr (!complex) return f(Maximum{});
      break;
    case ReduceOp::bit_and:
      if constexpr (std::is_integral_v<T>) return f(BitAnd{});
      break;
    case ReduceOp::bit_or:
      if constexpr (std::is_integral_v<T>) return f(BitOr{});
      break;
    case ReduceOp::bit_xor:
      if constexpr (std::is_integral_v<T>) return f(BitXor{});
      break;
    case ReduceOp::avg: break;
  }
  throw ArgumentError(fmt::format("{} has no reduction '{}'", name_of(dtype_of<T>), name_of(op)));
}

}  // namespace

void combine(DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count) {
  with_type(dtype, [&](auto example) {
    using T = decltype(example);
    with_op<T>(
        op, [&](auto function) { combine_typed<KernelType<T>>(function, inputs, outputs, count); });
  });
}

void divide(Memory data, int ranks) {
  with_type(data.dtype, [&](auto example) {
    using T = decltype(example);
    T* values = static_cast<T*>(data.data);
    if constexpr (is_small_float<T>) {
      const auto divisor = static_cast<float>(ranks);
      for (index_t i = 0; i < data.count; ++i) {
        values[i] = T(static_cast<float>(values[i]) / divisor);
      }
    } else if constexpr (!std::is_integral_v<T>) {
      const auto divisor = static_cast<Real<T>>(ranks);  // a complex one would mix the two parts
      for (index_t i = 0; i < data.count; ++i) values[i] /= divisor;
    }
  });
}

}  // namespace weft::detail
