#include "op/radon/phase_sum_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::kernels {
namespace {

#if defined(__CUDACC__)

/// exp(2 pi i turns), where turns is reduced in double precision.
__device__ inline Complex<float> turned(double turns, float) {
  Complex<float> z;
  sincospif(static_cast<float>(2 * (turns - rint(turns))), &z.im, &z.re);
  return z;
}
__device__ inline Complex<double> turned(double turns, double) {
  Complex<double> z;
  sincospi(2 * (turns - rint(turns)), &z.im, &z.re);
  return z;
}

template <class R, class Update>
void sum_phases(Cuda device, const PhaseSum& sum, const Complex<R>* x, Complex<R>* y,
                Update update) {
  for_each(device, sum.outer * sum.outputs, sum.middle, sum.frequencies,
           [=] WEFT_KERNEL(index_t line, index_t i, index_t k) {
             const index_t o = line / sum.outputs;
             const index_t frequency = sum.first + k;
             const index_t step = sum.middle * sum.frequencies;
             Complex<R> total;
             if (frequency >= sum.begin && frequency < sum.end) {
               const double scale = static_cast<double>(frequency) * sum.df *
                                    sum.output_positions[line % sum.outputs];
               const Complex<R>* from = x + o * sum.inputs * step + i * sum.frequencies + k;
               for (index_t p = 0; p < sum.inputs; ++p, from += step) {
                 total += turned(scale * sum.input_positions[p], R{}) * *from;
               }
             }
             update(total, y[line * step + i * sum.frequencies + k]);
           });
}

#else

/// Frequencies that are summed together: their sums and phases stay in the L1 cache.
constexpr index_t block_size = 64;

/// exp(2 pi i turns)
Complex<double> turned(double turns) {
  const double angle = 2 * std::numbers::pi * (turns - std::rint(turns));
  return {std::cos(angle), std::sin(angle)};
}

/// phases[k] = exp(2 pi i (turns + k step)) for a block, from two of them: each pass doubles the
/// number of phases that are known.
template <class R>
void fill_phases(double turns, double step, Complex<R>* phases) {
  phases[0] = Complex<R>(turned(turns));
  for (index_t known = 1; known < block_size; known *= 2) {
    const Complex<R> factor(turned(static_cast<double>(known) * step));
#pragma omp simd
    for (index_t k = 0; k < known; ++k) phases[known + k] = factor * phases[k];
  }
}

/// The sums of a block of `count` frequencies from element `begin` on, for output q of line o, i.
template <class R, class Update>
void sum_block(const PhaseSum& sum, index_t o, index_t q, index_t i, index_t begin, index_t count,
               const Complex<R>* x, Complex<R>* y, Update update) {
  Complex<R> sums[block_size];
  const index_t step = sum.middle * sum.frequencies;
  const index_t at = i * sum.frequencies + begin;
  const double frequency = static_cast<double>(sum.first + begin) * sum.df;
  const index_t from = std::clamp<index_t>(sum.begin - sum.first - begin, 0, count);
  const index_t to = std::clamp<index_t>(sum.end - sum.first - begin, from, count);
  for (index_t p = 0; p < sum.inputs && from < to; ++p) {
    const double product = sum.input_positions[p] * sum.output_positions[q];
    Complex<R> phases[block_size];
    fill_phases(frequency * product, sum.df * product, phases);
    const Complex<R>* line = x + (o * sum.inputs + p) * step + at;
#pragma omp simd
    for (index_t k = from; k < to; ++k) sums[k] += phases[k] * line[k];
  }
  Complex<R>* result = y + (o * sum.outputs + q) * step + at;
  for (index_t k = 0; k < count; ++k) update(sums[k], result[k]);
}

template <class R, class Update>
void sum_phases(Cpu, const PhaseSum& sum, const Complex<R>* x, Complex<R>* y, Update update) {
  const index_t blocks = (sum.frequencies + block_size - 1) / block_size;
  const index_t elements = sum.outer * sum.outputs * sum.middle * sum.frequencies;
  detail::share_jobs(sum.outer * sum.outputs * sum.middle * blocks,
                     detail::threads_for(elements * sum.inputs), [&](index_t job) {
                       const index_t begin = job % blocks * block_size;
                       const index_t line = job / blocks;
                       const index_t row = line / sum.middle;
                       sum_block(sum, row / sum.outputs, row % sum.outputs, line % sum.middle,
                                 begin, std::min(block_size, sum.frequencies - begin), x, y,
                                 update);
                     });
}

#endif

}  // namespace

template <class Device, class R>
void apply_phase_sum(Device device, const PhaseSum& sum, Complex<R> alpha, const Complex<R>* x,
                     Complex<R> beta, Complex<R>* y) {
  if (sum.outer * sum.outputs * sum.middle * sum.frequencies == 0) return;
  with_update(alpha, beta, [&](auto update) { sum_phases(device, sum, x, y, update); });
}

#define INSTANTIATE(R)                                                                            \
  template void apply_phase_sum(WEFT_THIS_DEVICE, const PhaseSum&, Complex<R>, const Complex<R>*, \
                                Complex<R>, Complex<R>*);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::kernels
