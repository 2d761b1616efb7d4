#include "core/profile_range.hpp"

#if defined(WEFT_WITH_CUDA)
#include <nvtx3/nvToolsExt.h>
#endif

namespace weft::detail {

#if defined(WEFT_WITH_CUDA)
ProfileRange::ProfileRange(const char* name) { nvtxRangePushA(name); }
ProfileRange::~ProfileRange() { nvtxRangePop(); }
#else
ProfileRange::ProfileRange(const char* /*name*/) {}
ProfileRange::~ProfileRange() = default;
#endif

}  // namespace weft::detail
