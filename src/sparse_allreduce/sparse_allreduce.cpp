#include <weft/sparse_allreduce/sparse_allreduce.hpp>

#include "sparse_allreduce/sparse_engine.hpp"

namespace weft {

SparseAllreduce::SparseAllreduce(const Comm& comm, index_t n, const SparseOptions& options)
    : engine_(std::make_unique<detail::SparseEngine>(comm, n, options)) {}

SparseAllreduce::SparseAllreduce(SparseAllreduce&&) noexcept = default;
SparseAllreduce& SparseAllreduce::operator=(SparseAllreduce&&) noexcept = default;
SparseAllreduce::~SparseAllreduce() = default;

index_t SparseAllreduce::workspace_bytes(int ranks, index_t n, const SparseOptions& options) {
  return detail::sparse_workspace_bytes(ranks, n, options);
}

void SparseAllreduce::run(ConstBufferRef gradient, BufferRef result) {
  engine_->run(gradient, result);
}
SparseResult SparseAllreduce::run_sparse(ConstBufferRef gradient) {
  return engine_->run_sparse(gradient);
}

void SparseAllreduce::set_density(double density) { engine_->set_density(density); }
double SparseAllreduce::density() const { return engine_->context().options.density; }
const SparseReport& SparseAllreduce::report() const { return engine_->report(); }
void SparseAllreduce::read_residual(BufferRef out) const { engine_->read_residual(out); }

std::vector<std::byte> SparseAllreduce::save() const { return engine_->save(); }
void SparseAllreduce::load(const std::vector<std::byte>& state) { engine_->load(state); }
void SparseAllreduce::reset() { engine_->reset(); }
void SparseAllreduce::to(Device device) { engine_->to(device); }

}  // namespace weft
