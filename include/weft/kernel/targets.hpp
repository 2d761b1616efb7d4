#pragma once

namespace weft {

/// Arrays that a kernel writes.
template <class T, int count>
struct Targets {
  T* at[count];
};

template <class T, class... Others>
Targets(T*, Others*...) -> Targets<T, 1 + sizeof...(Others)>;

}  // namespace weft
