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
  /// Of the last call. In slots on other devices than the CPU, it waits for the call.
  const SparseReport& report();
  std::vector<std::byte> save();
  void load(const std::vector<std::byte>& bytes);
  void reset();
  void to(Device device);

  const SparseContext& context() const { return context_; }

 private:
  SparseOutcome reduce(ConstBufferRef gradient, BufferRef out);
  void agree_on_call(const char* call, ConstBufferRef gradient, const BufferRef* result) const;
  void make_dense(const SparseOutcome& outcome, BufferRef out);
  kernels::Count shown(const SparseOutcome& outcome) const;
  kernels::Count list_result(const SparseOutcome& outcome);

  // in slots; see slots_engine.cpp
  void refuse_capture(const char* call, index_t prepared_k) const;
  void prepare_call();
  void refuse_at_once();
  void finish_call(index_t& prepared_k);
  kernels::CallControl read_call() const;
  kernels::CallControl pull_report();
  void forget_refusals();
  void pull_state();
  void push_state();

  SparseContext context_;
  // in slots
  bool has_graph_ = false;  // a call was captured
  bool has_news_ = false;   // the report lacks what is on the device
  bool result_on_device_ = false;
  SparseReport complete_report_;
  /// For which k the memory of run() and of run_sparse() is allocated.
  index_t run_prepared_ = 0;
  index_t sparse_prepared_ = 0;
};

/// Whether the work of this thread for the device goes into a graph.
bool is_captured(Device device);

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
