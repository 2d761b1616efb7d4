#include "op/matrix/sparse_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <cstdint>
#include <utility>

namespace weft::kernels {
namespace {

struct Plain {
  template <class T>
  WEFT_FUNCTION T operator()(T value) const {
    return value;
  }
};
struct Conjugate {
  template <class T>
  WEFT_FUNCTION T operator()(T value) const {
    return conj_of(value);
  }
};

/// The product of a row with entries 0, 1, ... alone.
template <class T, class I, class Form, int... entry>
WEFT_FUNCTION T short_product(std::integer_sequence<int, entry...>, const I* columns,
                              const T* values, const T* x, Form form) {
  return (... + (form(values[entry]) * x[columns[entry]]));
}
template <int count, class T, class I, class Form>
WEFT_FUNCTION T short_product(const I* columns, const T* values, const T* x, Form form) {
  return short_product(std::make_integer_sequence<int, count>{}, columns, values, x, form);
}

/// Four sums hide the latency of additions in long rows.
template <class T, class I, class Form>
WEFT_FUNCTION T long_product(I count, const I* columns, const T* values, const T* x, Form form) {
  T a{}, b{}, c{}, d{};
  I j = 0;
  for (; j + 3 < count; j += 4) {
    a += form(values[j]) * x[columns[j]];
    b += form(values[j + 1]) * x[columns[j + 1]];
    c += form(values[j + 2]) * x[columns[j + 2]];
    d += form(values[j + 3]) * x[columns[j + 3]];
  }
  for (; j < count; ++j) a += form(values[j]) * x[columns[j]];
  return (a + b) + (c + d);
}

/// Short rows have no loop: with it, a Laplacian takes a fifth longer.
template <class T, class I, class Form>
WEFT_FUNCTION T row_product(I begin, I end, const I* columns, const T* values, const T* x,
                            Form form) {
  columns += begin;
  values += begin;
  switch (end - begin) {
    case 0: return T{};
    case 1: return short_product<1>(columns, values, x, form);
    case 2: return short_product<2>(columns, values, x, form);
    case 3: return short_product<3>(columns, values, x, form);
    case 4: return short_product<4>(columns, values, x, form);
    case 5: return short_product<5>(columns, values, x, form);
    case 6: return short_product<6>(columns, values, x, form);
    case 7: return short_product<7>(columns, values, x, form);
    default: return long_product(end - begin, columns, values, x, form);
  }
}

#if defined(__CUDACC__)

template <class T, class I, class F>
void for_each_row(Cuda device, const SparseRowsView<T, I>& a, F f) {
  for_each(device, a.rows, f);
}

#else

template <class T, class I, class F>
void for_each_row(Cpu, const SparseRowsView<T, I>& a, F f) {
  const index_t* pieces = a.pieces;
  const auto entries = a.rows == 0 ? index_t{0} : static_cast<index_t>(a.begins[a.rows]);
  const int threads = detail::threads_for(a.rows + entries);
  detail::share_jobs(a.piece_count, threads, [=](index_t piece) {
    for (index_t row = pieces[piece]; row < pieces[piece + 1]; ++row) f(row);
  });
}

#endif

template <class Device, class T, class I, class Form, class Update>
void multiply_each(Device device, const SparseRowsView<T, I>& a, Form form, const T* x, T* y,
                   Update update) {
  const I* begins = a.begins;
  const I* columns = a.columns;
  const T* values = a.values;
  if (a.numbers == nullptr) {
    for_each_row(device, a, [=] WEFT_KERNEL(index_t row) {
      update(row_product(begins[row], begins[row + 1], columns, values, x, form), y[row]);
    });
    return;
  }
  const I* numbers = a.numbers;
  for_each_row(device, a, [=] WEFT_KERNEL(index_t row) {
    update(row_product(begins[row], begins[row + 1], columns, values, x, form), y[numbers[row]]);
  });
}

}  // namespace

template <class Device, class T, class I>
void multiply_rows(Device device, const SparseRowsView<T, I>& a, bool conjugate, T alpha,
                   const T* x, T beta, T* y) {
  with_update(alpha, beta, [&](auto update) {
    if (conjugate) {
      multiply_each(device, a, Conjugate{}, x, y, update);
    } else {
      multiply_each(device, a, Plain{}, x, y, update);
    }
  });
}

template <class Device, class T>
void gather_elements(Device device, index_t n, const index_t* places, const T* x, T* out) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { out[i] = x[places[i]]; });
}

template <class Device, class T>
void add_elements(Device device, index_t n, const index_t* places, T alpha, const T* values, T* x) {
  for_each(device, n, [=] WEFT_KERNEL(index_t i) { x[places[i]] += alpha * values[i]; });
}

#define INSTANTIATE(T)                                                                           \
  template void multiply_rows(WEFT_THIS_DEVICE, const SparseRowsView<T, std::int32_t>&, bool, T, \
                              const T*, T, T*);                                                  \
  template void multiply_rows(WEFT_THIS_DEVICE, const SparseRowsView<T, index_t>&, bool, T,      \
                              const T*, T, T*);                                                  \
  template void gather_elements(WEFT_THIS_DEVICE, index_t, const index_t*, const T*, T*);        \
  template void add_elements(WEFT_THIS_DEVICE, index_t, const index_t*, T, const T*, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
