#pragma once

// The selection of a sparse allreduce without the exchange, for benchmarks. Uses internal headers:
// the selection alone is not public.

#include <weft/comm/comm.hpp>
#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/selectors.hpp"
#include "sparse_allreduce/sparse_engine.hpp"

#include <string>

namespace weft::sparse_bench {

/// Selects again and again from residual + gradient, the same elements in every call.
class RepeatedSelection {
 public:
  RepeatedSelection(const std::string& selector, ConstBufferRef gradient, double density)
      : context_(Comm::self(), gradient.count, options(gradient, density)),
        selector_(detail::find_selector(selector)) {
    context_.types = detail::pair_types(gradient.count, context_.options);
    detail::allocate(context_);
    context_.gradient = gradient;
    context_.k = detail::selected_elements(gradient.count, density);
  }

  void run() {
    selector_.select(context_);
    ++context_.state.calls;
  }

  detail::SparseContext& context() { return context_; }
  /// Divided by k.
  double selected() const {
    return static_cast<double>(context_.picked.count) / static_cast<double>(context_.k);
  }
  /// Bytes that a selection must read and write: gradient and residual, and the residual.
  index_t least_bytes() const {
    return context_.n * (size_of(context_.types.value) + 2 * context_.work_bytes());
  }

 private:
  static SparseOptions options(ConstBufferRef gradient, double density) {
    SparseOptions options;
    options.density = density;
    options.dtype = gradient.dtype;
    options.device = gradient.where;
    options.oktopk.local_period = index_t{1} << 40;  // after the first call, thresholds are reused
    // The same work, but with the same elements to select in every call.
    options.error_feedback = false;
    return options;
  }

  detail::SparseContext context_;
  const detail::SparseSelector& selector_;
};

}  // namespace weft::sparse_bench
