#pragma once

namespace weft::test {

/// Whether operator_new.cpp replaces operator new in this binary. Sanitizers have their own, which
/// find more errors; WEFT_REPLACE_SANITIZED_NEW replaces even that.
#if (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)) && \
    !defined(WEFT_REPLACE_SANITIZED_NEW)
inline constexpr bool replaces_operator_new = false;
#else
inline constexpr bool replaces_operator_new = true;
#endif

/// The replaced operator new calls this before it allocates, unless it is null. It may throw.
using AllocationHook = void (*)();
void set_allocation_hook(AllocationHook hook);  // of this thread

}  // namespace weft::test
