#include <weft/core/parallel.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace weft::detail {

int max_threads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

}  // namespace weft::detail
