#include "sparse_bench/check.hpp"

#include <weft/core/error.hpp>

#include "sparse_bench/laws.hpp"
#include "sparse_bench/tensor.hpp"

#include <algorithm>

namespace weft::sparse_bench {
namespace {

constexpr int checked_calls = 2;  // the second one has residuals, and reuses thresholds

class Failures {
 public:
  void add_unless(bool good, const std::string& what) {
    if (!good) text_ += (text_.empty() ? "" : ", ") + what;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::vector<double> residual_of(const SparseAllreduce& reduce, const Case& at) {
  const DType work = at.dtype == DType::f64 ? DType::f64 : DType::f32;
  Tensor residual(at.n, work, Device::cpu());
  reduce.read_residual(residual.ref());
  return numbers_in(residual.ref());
}

Tensor small_gradient(const Comm& comm, const Case& at, index_t step) {
  Tensor gradient(at.n, at.dtype, comm.device());
  gradient.write([&](index_t i) { return small_integer_at(comm.rank(), comm.size(), step, i); });
  return gradient;
}

void check_calls(const Comm& comm, const SparseOptions& sparse, const Case& at,
                 Failures& failures) {
  SparseAllreduce reduce(comm, at.n, sparse);
  Tensor result(at.n, at.dtype, comm.device());
  for (int call = 0; call < checked_calls; ++call) {
    Tensor gradient = small_gradient(comm, at, call);
    std::vector<double> inputs = residual_of(reduce, at);
    add_to(inputs, numbers_in(gradient.ref()));
    reduce.run(gradient.ref(), result.ref());
    const double error =
        conservation_error(comm, inputs, numbers_in(result.ref()), residual_of(reduce, at));
    failures.add_unless(
        error == 0, fmt::format("call {} loses or invents up to {} of an element", call, error));
    failures.add_unless(same_on_all_ranks(comm, bytes_of(result.ref())),
                        fmt::format("results of call {} differ between ranks", call));
  }
}

void check_density_one(const Comm& comm, SparseOptions sparse, const Case& at, Failures& failures) {
  sparse.density = 1;
  sparse.selector = "exact";
  sparse.capacity = at.n;  // slots that hold everything
  SparseAllreduce reduce(comm, at.n, sparse);
  Tensor gradient = small_gradient(comm, at, 0);
  Tensor result(at.n, at.dtype, comm.device());
  Tensor sum(at.n, at.dtype, comm.device());
  reduce.run(gradient.ref(), result.ref());
  comm.allreduce(gradient.ref(), sum.ref(), ReduceOp::sum);
  const std::vector<double> residual = residual_of(reduce, at);
  const bool same = bytes_of(result.ref()) == bytes_of(sum.ref());
  const bool empty = std::all_of(residual.begin(), residual.end(), [](double x) { return x == 0; });
  const auto everywhere = [&](bool good) {
    return comm.allreduce(std::int32_t{good ? 1 : 0}, ReduceOp::min) == 1;
  };
  failures.add_unless(everywhere(same), "density 1 is not the dense sum");
  failures.add_unless(everywhere(empty), "density 1 leaves a residual");
}

}  // namespace

CheckRow check(const Comm& comm, const Options& options, const Case& at) {
  const SparseOptions sparse = sparse_options(options, at, comm.device());
  Failures failures;
  try {
    check_calls(comm, sparse, at, failures);
    check_density_one(comm, sparse, at, failures);
  } catch (const AgreedError& error) {  // thrown by all ranks
    failures.add_unless(false, error.what());
  }
  return {at, failures.text()};
}

}  // namespace weft::sparse_bench
