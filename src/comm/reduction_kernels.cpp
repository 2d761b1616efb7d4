#include "comm/reduction_kernels.hpp"

#include <weft/core/scalars.hpp>
#include <weft/kernel/complex.hpp>
#include <weft/kernel/for_each.hpp>

#include <algorithm>
#include <type_traits>

namespace weft::kernels {
namespace {

struct Sum {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return static_cast<A>(a + b);
  }
};
struct Product {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return static_cast<A>(a * b);
  }
};
struct Minimum {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return static_cast<A>(a & b);
  }
};
struct BitOr {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return static_cast<A>(a | b);
  }
};
struct BitXor {
  template <class A>
  WEFT_FUNCTION A operator()(A a, A b) const {
    return static_cast<A>(a ^ b);
  }
};

template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The type in which elements of type T are combined.
template <class T>
using Wide = std::conditional_t<is_small_float<T>, float, T>;

#if defined(__CUDACC__)

template <class T>
struct RankPointers {
  const T* in[max_gpu_inputs];
  T* out[max_gpu_inputs];
};

template <class T, class Op>
void combine_typed(Cuda device, Op op, std::span<const void* const> inputs,
                   std::span<void* const> outputs, index_t count) {
  RankPointers<T> rank;
  const auto in_count = static_cast<int>(inputs.size());
  const auto out_count = static_cast<int>(outputs.size());
  for (int i = 0; i < in_count; ++i) rank.in[i] = static_cast<const T*>(inputs[i]);
  for (int i = 0; i < out_count; ++i) rank.out[i] = static_cast<T*>(outputs[i]);
  for_each(device, count, [=] WEFT_KERNEL(index_t i) {
    auto value = static_cast<Wide<T>>(rank.in[0][i]);
    for (int r = 1; r < in_count; ++r) value = op(value, static_cast<Wide<T>>(rank.in[r][i]));
    for (int r = 0; r < out_count; ++r) rank.out[r][i] = static_cast<T>(value);
  });
}

#else

template <class T, class Op>
void combine_typed(Cpu, Op op, std::span<const void* const> inputs, std::span<void* const> outputs,
                   index_t count) {
  if constexpr (!is_small_float<T>) {
    // Two inputs are the common case, done in a single pass over memory.
    const T* a = static_cast<const T*>(inputs.front());
    const T* b = static_cast<const T*>(inputs.back());
    T* first = static_cast<T*>(outputs.front());
    T* last = static_cast<T*>(outputs.back());
    if (inputs.size() == 2 && outputs.size() == 1) {
#pragma omp simd
      for (index_t i = 0; i < count; ++i) first[i] = op(a[i], b[i]);
      return;
    }
    if (inputs.size() == 2 && outputs.size() == 2) {
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

#endif

/// Calls f with the function object of an op that T supports.
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
}

template <class R, class Device, class T>
void divide_typed(Device device, index_t count, int divisor, T* data) {
  const auto number = static_cast<R>(divisor);
  for_each(device, count, [=] WEFT_KERNEL(index_t i) {
    data[i] = static_cast<T>(static_cast<R>(data[i]) / number);
  });
}

}  // namespace

template <class Device>
void combine(Device device, DType dtype, ReduceOp op, std::span<const void* const> inputs,
             std::span<void* const> outputs, index_t count) {
  with_type(dtype, [&](auto example) {
    using T = decltype(example);
    with_op<T>(op, [&](auto function) {
      combine_typed<KernelType<T>>(device, function, inputs, outputs, count);
    });
  });
}

template <class Device>
void divide(Device device, DType dtype, index_t count, int divisor, void* data) {
  switch (dtype) {
    case DType::f16: return divide_typed<float>(device, count, divisor, static_cast<Half*>(data));
    case DType::bf16:
      return divide_typed<float>(device, count, divisor, static_cast<BFloat16*>(data));
    // The two parts of a complex number are divided alike.
    case DType::c64:
      return divide_typed<float>(device, 2 * count, divisor, static_cast<float*>(data));
    case DType::f32: return divide_typed<float>(device, count, divisor, static_cast<float*>(data));
    case DType::c128:
      return divide_typed<double>(device, 2 * count, divisor, static_cast<double*>(data));
    default: return divide_typed<double>(device, count, divisor, static_cast<double*>(data));
  }
}

template void combine(WEFT_THIS_DEVICE, DType, ReduceOp, std::span<const void* const>,
                      std::span<void* const>, index_t);
template void divide(WEFT_THIS_DEVICE, DType, index_t, int, void*);

}  // namespace weft::kernels
