// Fourier transforms of many real lines of odd length, one line per SIMD lane, for lengths with a
// prime factor from 11 to 255. The rows "MDC" and "CGLS, MDD" of bench/results/compare.json use
// them: their lines have 1599 = 3 * 13 * 41 samples. Other lengths use FFTW.

#include <weft/kernel/for_each.hpp>

#include "kernel/multiply_add.hpp"
#include "op/axis_extents.hpp"
#include "op/fourier/fourier_plan.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <type_traits>
#include <utility>

namespace weft::detail {
namespace {

using kernels::broadcast;
using kernels::multiply_add_lanes;

#if defined(__AVX512F__)
constexpr std::size_t register_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t register_bytes = 32;
#else
constexpr std::size_t register_bytes = 16;
#endif

template <class F>
constexpr index_t width = register_bytes / sizeof(F);

/// One element of each line that is transformed together.
template <class F>
using Lanes [[gnu::vector_size(register_bytes)]] = F;

template <class F>
struct ComplexLanes {
  Lanes<F> re;
  Lanes<F> im;
};

/// Largest radix of a step, whose multiplications per element and stack memory are proportional to
/// it. FFTW is as fast for larger prime factors.
constexpr index_t max_radix = 255;
constexpr index_t max_half = max_radix / 2;

/// The prime factors of an odd n in ascending order.
std::vector<index_t> prime_factors(index_t n) {
  std::vector<index_t> factors;
  for (index_t p = 3; n > 1; p = p * p > n ? n : p + 2) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  return factors;
}

/// A step of decimation in time: combines radix * count transforms of `length` elements into
/// `count` transforms of radix * length elements; backward splits them. Lines are real and lengths
/// odd, so that each transform has length / 2 + 1 frequencies.
template <class F>
class Step {
 public:
  Step(index_t radix, index_t length, index_t count)
      : radix_(radix), half_(radix / 2), length_(length), count_(count) {
    for (index_t q = 1; q <= half_; ++q) {
      for (index_t s = 1; s <= half_; ++s) {
        cosines_.push_back(static_cast<F>(std::cos(angle(q * s % radix, radix))));
        sines_.push_back(static_cast<F>(std::sin(angle(q * s % radix, radix))));
      }
    }
    for (index_t k = 0; k < rows(); ++k) {
      for (index_t q = 1; q < radix; ++q) {
        const double phase = angle(q * k, radix * length);
        twiddles_.push_back({static_cast<F>(std::cos(phase)), static_cast<F>(-std::sin(phase))});
      }
    }
  }

  void forward(const ComplexLanes<F>* in, ComplexLanes<F>* out) const {
    for (index_t j = 0; j < count_; ++j, out += joined_rows()) {
      forward_zero(in + j * rows(), out);
      for (index_t k = 1; k < rows(); ++k) forward_frequency(in + j * rows(), k, out);
    }
  }
  void backward(const ComplexLanes<F>* in, ComplexLanes<F>* out) const {
    for (index_t j = 0; j < count_; ++j, in += joined_rows()) {
      backward_zero(in, out + j * rows());
      for (index_t k = 1; k < rows(); ++k) backward_frequency(in, k, out + j * rows());
    }
  }

 private:
  struct Twiddle {
    F re;
    F im;
  };
  /// Sums and differences of elements q and radix - q.
  struct Pairs {
    Lanes<F> sum_re[max_half];
    Lanes<F> sum_im[max_half];
    Lanes<F> difference_re[max_half];
    Lanes<F> difference_im[max_half];

    void set(index_t q, const ComplexLanes<F>& a, const ComplexLanes<F>& b) {
      sum_re[q - 1] = a.re + b.re;
      sum_im[q - 1] = a.im + b.im;
      difference_re[q - 1] = a.re - b.re;
      difference_im[q - 1] = a.im - b.im;
    }
  };

  static double angle(index_t part, index_t of) {
    return 2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(of);
  }
  index_t rows() const { return length_ / 2 + 1; }
  index_t joined_rows() const { return radix_ * length_ / 2 + 1; }
  /// Distance between the transforms that are combined.
  index_t distance() const { return count_ * rows(); }

  static ComplexLanes<F> times_twiddle(const ComplexLanes<F>& a, const Twiddle& by) {
    const auto re = broadcast<Lanes<F>>(by.re);
    const auto im = broadcast<Lanes<F>>(by.im);
    return {multiply_add_lanes<F>(a.re, re, -(a.im * im)),
            multiply_add_lanes<F>(a.re, im, a.im * re)};
  }
  static ComplexLanes<F> times_conj_twiddle(const ComplexLanes<F>& a, const Twiddle& by) {
    const auto re = broadcast<Lanes<F>>(by.re);
    const auto im = broadcast<Lanes<F>>(by.im);
    return {multiply_add_lanes<F>(a.re, re, a.im * im),
            multiply_add_lanes<F>(a.im, re, -(a.re * im))};
  }

  Lanes<F> sum(Lanes<F> first, const Lanes<F>* others) const {
    for (index_t q = 0; q < half_; ++q) first += others[q];
    return first;
  }
  /// visit(s, first + sum over q of cos(2 pi q s / radix) u[q], sum over q of sin(2 pi q s / radix)
  /// v[q]) for 1 <= s <= half_.
  template <class Visit>
  void for_each_sum(Lanes<F> first, const Lanes<F>* u, const Lanes<F>* v, Visit visit) const {
    index_t s = 0;
    for (; s + 4 <= half_; s += 4) sums<4>(s, first, u, v, visit);
    for (; s < half_; ++s) sums<1>(s, first, u, v, visit);
  }
  template <index_t n, class Visit>
  void sums(index_t s, Lanes<F> first, const Lanes<F>* u, const Lanes<F>* v, Visit visit) const {
    Lanes<F> even[n];
    Lanes<F> odd[n];
    for (index_t i = 0; i < n; ++i) {
      even[i] = first;
      odd[i] = Lanes<F>{};
    }
    for (index_t q = 0; q < half_; ++q) {
      const F* cosines = cosines_.data() + q * half_ + s;
      const F* sines = sines_.data() + q * half_ + s;
      for (index_t i = 0; i < n; ++i) {
        even[i] = multiply_add_lanes<F>(broadcast<Lanes<F>>(cosines[i]), u[q], even[i]);
        odd[i] = multiply_add_lanes<F>(broadcast<Lanes<F>>(sines[i]), v[q], odd[i]);
      }
    }
    for (index_t i = 0; i < n; ++i) visit(s + i + 1, even[i], odd[i]);
  }

  /// Combines frequencies 0, which are real.
  void forward_zero(const ComplexLanes<F>* in, ComplexLanes<F>* out) const {
    Pairs pairs;
    for (index_t q = 1; q <= half_; ++q) {
      const Lanes<F> a = in[q * distance()].re;
      const Lanes<F> b = in[(radix_ - q) * distance()].re;
      pairs.sum_re[q - 1] = a + b;
      pairs.difference_re[q - 1] = a - b;
    }
    out[0] = {sum(in[0].re, pairs.sum_re), Lanes<F>{}};
    for_each_sum(in[0].re, pairs.sum_re, pairs.difference_re,
                 [&](index_t s, Lanes<F> even, Lanes<F> odd) {
                   out[s * length_] = {even, -odd};
                 });
  }
  void backward_zero(const ComplexLanes<F>* in, ComplexLanes<F>* out) const {
    Pairs pairs;
    for (index_t s = 1; s <= half_; ++s) {
      pairs.sum_re[s - 1] = 2 * in[s * length_].re;
      pairs.difference_im[s - 1] = 2 * in[s * length_].im;
    }
    out[0].re = sum(in[0].re, pairs.sum_re);
    for_each_sum(in[0].re, pairs.sum_re, pairs.difference_im,
                 [&](index_t q, Lanes<F> even, Lanes<F> odd) {
                   out[q * distance()].re = even - odd;
                   out[(radix_ - q) * distance()].re = even + odd;
                 });
  }

  /// Combines frequencies k into frequencies k + length * s. Those beyond the half that is stored
  /// are conjugates of stored ones: k + length * (radix - s) mirrors length * s - k.
  void forward_frequency(const ComplexLanes<F>* in, index_t k, ComplexLanes<F>* out) const {
    const Twiddle* twiddles = twiddles_.data() + k * (radix_ - 1) - 1;
    const auto element = [&](index_t q) {
      return times_twiddle(in[q * distance() + k], twiddles[q]);
    };
    Pairs pairs;
    for (index_t q = 1; q <= half_; ++q) pairs.set(q, element(q), element(radix_ - q));
    out[k] = {sum(in[k].re, pairs.sum_re), sum(in[k].im, pairs.sum_im)};
    for_each_sum(in[k].re, pairs.sum_re, pairs.difference_im,
                 [&](index_t s, Lanes<F> even, Lanes<F> odd) {
                   out[s * length_ + k].re = even + odd;
                   out[s * length_ - k].re = even - odd;
                 });
    for_each_sum(in[k].im, pairs.sum_im, pairs.difference_re,
                 [&](index_t s, Lanes<F> even, Lanes<F> odd) {
                   out[s * length_ + k].im = even - odd;
                   out[s * length_ - k].im = -(even + odd);
                 });
  }
  void backward_frequency(const ComplexLanes<F>* in, index_t k, ComplexLanes<F>* out) const {
    const Twiddle* twiddles = twiddles_.data() + k * (radix_ - 1) - 1;
    Pairs pairs;
    for (index_t s = 1; s <= half_; ++s) {
      const ComplexLanes<F>& mirrored = in[s * length_ - k];
      pairs.set(s, in[s * length_ + k], {mirrored.re, -mirrored.im});
    }
    out[k] = {sum(in[k].re, pairs.sum_re), sum(in[k].im, pairs.sum_im)};
    for_each_sum(in[k].re, pairs.sum_re, pairs.difference_im,
                 [&](index_t q, Lanes<F> even, Lanes<F> odd) {
                   out[q * distance() + k].re = even - odd;
                   out[(radix_ - q) * distance() + k].re = even + odd;
                 });
    for_each_sum(in[k].im, pairs.sum_im, pairs.difference_re,
                 [&](index_t q, Lanes<F> even, Lanes<F> odd) {
                   out[q * distance() + k].im = even + odd;
                   out[(radix_ - q) * distance() + k].im = even - odd;
                 });
    for (index_t q = 1; q < radix_; ++q) {
      ComplexLanes<F>& element = out[q * distance() + k];
      element = times_conj_twiddle(element, twiddles[q]);
    }
  }

  index_t radix_;
  index_t half_;
  index_t length_;
  index_t count_;
  std::vector<F> cosines_;  // [q, s] of 2 pi q s / radix, from 1
  std::vector<F> sines_;
  std::vector<Twiddle> twiddles_;  // [k, q] of -2 pi q k / (radix length), q from 1
};

template <class F>
class LaneFft final : public FourierPlan<F> {
  using C = std::complex<F>;
  using Rows = std::vector<ComplexLanes<F>>;

 public:
  LaneFft(const Shape& shape, int axis) : extents_(shape, axis) {
    index_t length = 1;
    for (const index_t radix : prime_factors(extents_.n)) {
      steps_.emplace_back(radix, length, extents_.n / (length * radix));
      length *= radix;
    }
    const index_t threads = std::min<index_t>(threads_for(shape.count()), groups());
    for (index_t i = 0; i < threads; ++i) scratch_.emplace_back(extents_.n);
  }

  void forward(const F* x, C* y) override {
    for_each_group([&](Scratch& scratch, index_t outer, index_t first, auto lanes) {
      const F* from = x + outer * extents_.n * extents_.inner + first;
      for (ComplexLanes<F>& row : scratch.in) {
        F re[width<F>] = {};
        for (index_t i = 0; i < lanes; ++i) re[i] = from[i];
        std::memcpy(&row.re, re, sizeof(re));
        from += extents_.inner;
      }
      for (const Step<F>& step : steps_) {
        step.forward(scratch.in.data(), scratch.out.data());
        std::swap(scratch.in, scratch.out);
      }
      C* to = y + outer * frequencies() * extents_.inner + first;
      for (index_t k = 0; k < frequencies(); ++k, to += extents_.inner) {
        const ComplexLanes<F>& row = scratch.in[static_cast<std::size_t>(k)];
        F re[width<F>];
        F im[width<F>];
        std::memcpy(re, &row.re, sizeof(re));
        std::memcpy(im, &row.im, sizeof(im));
        for (index_t i = 0; i < lanes; ++i) to[i] = C(re[i], im[i]);
      }
    });
  }
  void backward(C* y, F* x) override {
    for_each_group([&](Scratch& scratch, index_t outer, index_t first, auto lanes) {
      const C* from = y + outer * frequencies() * extents_.inner + first;
      for (index_t k = 0; k < frequencies(); ++k, from += extents_.inner) {
        ComplexLanes<F>& row = scratch.in[static_cast<std::size_t>(k)];
        F re[width<F>] = {};
        F im[width<F>] = {};
        for (index_t i = 0; i < lanes; ++i) {
          re[i] = from[i].real();
          im[i] = from[i].imag();
        }
        std::memcpy(&row.re, re, sizeof(re));
        std::memcpy(&row.im, im, sizeof(im));
      }
      for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
        step->backward(scratch.in.data(), scratch.out.data());
        std::swap(scratch.in, scratch.out);
      }
      F* to = x + outer * extents_.n * extents_.inner + first;
      for (const ComplexLanes<F>& row : scratch.in) {
        F re[width<F>];
        std::memcpy(re, &row.re, sizeof(re));
        for (index_t i = 0; i < lanes; ++i) to[i] = re[i];
        to += extents_.inner;
      }
    });
  }

 private:
  struct Scratch {
    explicit Scratch(index_t rows)
        : in(static_cast<std::size_t>(rows)), out(static_cast<std::size_t>(rows)) {}
    Rows in;
    Rows out;
  };

  index_t frequencies() const { return extents_.n / 2 + 1; }
  index_t groups_per_outer() const { return (extents_.inner + width<F> - 1) / width<F>; }
  index_t groups() const { return extents_.outer * groups_per_outer(); }

  /// transform(scratch, outer, first line, lines) for each group of lines; the number of lines is a
  /// compile-time constant for whole registers, so that loops are unrolled.
  template <class Transform>
  void for_each_group(Transform transform) {
    const auto threads = static_cast<int>(scratch_.size());
    detail::share_jobs(threads, threads, [&](index_t thread) {
      Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
      const index_t last = groups() * (thread + 1) / threads;
      for (index_t group = groups() * thread / threads; group < last; ++group) {
        const index_t outer = group / groups_per_outer();
        const index_t first = group % groups_per_outer() * width<F>;
        const index_t left = extents_.inner - first;
        if (left >= width<F>) {
          transform(scratch, outer, first, std::integral_constant<index_t, width<F>>{});
        } else {
          transform(scratch, outer, first, left);
        }
      }
    });
  }

  AxisExtents extents_;
  std::vector<Step<F>> steps_;
  std::vector<Scratch> scratch_;  // one per thread
};

}  // namespace

// Thresholds are measured with lines of 1599 = 3 * 13 * 41 samples, rows "MDC" and "CGLS, MDD" of
// `make compare`. FFTW has special code for small factors, and few lanes or partly filled registers
// gain little.
template <std::floating_point F, class Tag>
bool suits_lane_fft(Tag, const Shape& shape, int axis) {
  const AxisExtents extents(shape, axis);
  if (width<F> < 4 || extents.inner < 2 * width<F> || extents.n % 2 == 0 || extents.n == 1)
    return false;
  const index_t largest = prime_factors(extents.n).back();
  return largest >= 11 && largest <= max_radix;
}

template <std::floating_point F, class Tag>
std::unique_ptr<FourierPlan<F>> make_lane_plan(Tag, const Shape& shape, int axis) {
  return std::make_unique<LaneFft<F>>(shape, axis);
}

#define INSTANTIATE(F)                                                  \
  template bool suits_lane_fft<F>(WEFT_THIS_DEVICE, const Shape&, int); \
  template std::unique_ptr<FourierPlan<F>> make_lane_plan<F>(WEFT_THIS_DEVICE, const Shape&, int);
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace weft::detail
