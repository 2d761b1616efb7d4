#pragma once

#include "sparse_allreduce/sparse_context.hpp"

#include <cstddef>
#include <vector>

namespace weft::detail {

/// The implementation of SparseAllreduce.
class SparseEngine {
 public:
  SparseEngine(const Comm& comm, index_t n, const SparseOptions& options);

  void run(ConstBufferRef gradient, BufferRef result);
  SparseResult run_sparse(ConstBufferRef gradient);
  void set_density(double density);
  void read_residual(BufferRef out) const;
  std::vector<std::byte> save() const;
  void load(const std::vector<std::byte>& bytes);
  void reset();
  void to(Device device);

  const SparseContext& context() const { return context_; }

 private:
  SparseOutcome reduce(ConstBufferRef gradient, BufferRef out);
  void agree_on_call(const char* call, ConstBufferRef gradient, const BufferRef* result) const;
  void make_dense(const SparseOutcome& outcome, BufferRef out);
  index_t list_result(const SparseOutcome& outcome);

  SparseContext context_;
};

/// Throws if options are wrong by themselves.
void check_sparse_options(index_t n, const SparseOptions& options);
kernels::PairTypes pair_types(index_t n, const SparseOptions& options);
index_t selected_elements(index_t n, double density);
/// Memory of the context for its device; the residual is 0.
void allocate(SparseContext& context);
index_t sparse_workspace_bytes(int ranks, index_t n, const SparseOptions& options);

std::vector<std::byte> save_state(const SparseContext& context);
/// Throws if the bytes are not a state of such a context on this rank.
SparseState parse_state(const SparseContext& context, const std::vector<std::byte>& bytes);

}  // namespace weft::detail
