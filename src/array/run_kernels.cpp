#include "array/run_kernels.hpp"

#include <weft/kernel/for_each.hpp>

#include "array/update_math.hpp"

namespace weft::kernels {
namespace {

struct Copy {
  template <class T>
  WEFT_FUNCTION void operator()(T value, T& y) const {
    y = value;
  }
};

template <class Device, class T, class Update>
void visit_runs(Device device, index_t count, index_t longest, const index_t* from_at,
                const index_t* to_at, const index_t* lengths, const T* from, T* to, Update update) {
  for_each(device, count, longest, 1, [=] WEFT_KERNEL(index_t r, index_t i, index_t) {
    if (i < lengths[r]) update(from[from_at[r] + i], to[to_at[r] + i]);
  });
}

}  // namespace

template <class Device, class T>
void axpby_runs(Device device, index_t count, index_t longest, const index_t* from_at,
                const index_t* to_at, const index_t* lengths, T alpha, const T* from, T beta,
                T* to) {
  if (!is_nonzero(beta) && !is_nonzero(alpha - T{1})) {
    return visit_runs(device, count, longest, from_at, to_at, lengths, from, to, Copy{});
  }
  with_update(alpha, beta, [&](auto update) {
    visit_runs(device, count, longest, from_at, to_at, lengths, from, to, update);
  });
}

#define INSTANTIATE(T)                                                                         \
  template void axpby_runs(WEFT_THIS_DEVICE, index_t, index_t, const index_t*, const index_t*, \
                           const index_t*, T, const T*, T, T*);
WEFT_FOR_EACH_KERNEL_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::kernels
