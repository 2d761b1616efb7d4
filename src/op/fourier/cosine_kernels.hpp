#pragma once

// Steps before and after the Fourier transforms by which fft_cosine_plan.cpp computes cosine
// transforms. They work on rows of arrays [outer, rows, inner]; tables have an entry per output
// row.

#include <weft/core/shape.hpp>
#include <weft/kernel/complex.hpp>

namespace weft::kernels {

/// y[r] = weight x[row]
template <class R>
struct RowTerm {
  index_t row;
  R weight;
};
/// y[r] = a x[first] + b x[second]
template <class R>
struct SpectrumTerm {
  index_t first;
  index_t second;
  Complex<R> a;
  Complex<R> b;
};
/// y[r] = re Re(x[row]) + im Im(x[row])
template <class R>
struct ProjectionTerm {
  index_t row;
  R re;
  R im;
};

/// Numbers of rows of the input and the output.
struct RowCounts {
  index_t outer;
  index_t from;
  index_t to;
  index_t inner;
};

template <class Device, class R>
void apply_rows(Device device, RowCounts counts, const RowTerm<R>* table, const R* x, R* y);
template <class Device, class R>
void apply_rows(Device device, RowCounts counts, const SpectrumTerm<R>* table, const R* x,
                Complex<R>* y);
template <class Device, class R>
void apply_rows(Device device, RowCounts counts, const ProjectionTerm<R>* table,
                const Complex<R>* x, R* y);

}  // namespace weft::kernels
