#include "array/random_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "core/hash.hpp"
#include "kernel/kernel_math.hpp"

namespace weft::kernels {
namespace {

/// The upper 24 bits as a number in [-1, 1), which all types hold exactly.
template <class R>
WEFT_FUNCTION R uniform(std::uint64_t bits) {
  return static_cast<R>(static_cast<std::int64_t>(bits >> 40)) * static_cast<R>(0x1p-23) - R{1};
}

template <class R>
WEFT_FUNCTION void draw(std::uint64_t bits, R& x) {
  x = uniform<R>(bits);
}
template <class R>
WEFT_FUNCTION void draw(std::uint64_t bits, Complex<R>& x) {
  x = {uniform<R>(bits), uniform<R>(detail::mix_bits(bits + detail::golden_ratio_bits))};
}

}  // namespace

template <class Device, class T>
void fill_random(Device device, const Shape& shape, const Box& box, std::uint64_t seed, T* x) {
  if (box.shape.count() == 0) return;
  const int last = box.shape.ndim() - 1;
  const index_t length = last < 0 ? 1 : box.shape[last];
  const std::uint64_t key = detail::mix_bits(seed + detail::golden_ratio_bits);
  for_each(device, 1, box.shape.count() / length, length,
           [=] WEFT_KERNEL(index_t, index_t row, index_t k) {
             index_t position = last < 0 ? 0 : box.offset[last] + k;
             index_t rest = row;
             index_t stride = last < 0 ? 1 : shape[last];
             for (int axis = last - 1; axis >= 0; --axis) {
               position += (box.offset[axis] + rest % box.shape[axis]) * stride;
               rest /= box.shape[axis];
               stride *= shape[axis];
             }
             draw(detail::mix_bits(
                      static_cast<std::uint64_t>(position) * detail::golden_ratio_bits + key),
                  x[row * length + k]);
           });
}

#define INSTANTIATE(T) \
  template void fill_random(WEFT_THIS_DEVICE, const Shape&, const Box&, std::uint64_t, T*);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(Complex<float>)
INSTANTIATE(Complex<double>)
#undef INSTANTIATE

}  // namespace weft::kernels
