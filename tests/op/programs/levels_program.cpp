// Run by levels_test as a process at each CPU level: computes results that must have the same bits
// at all levels, and prints a hash of each.

#include <weft/weft.hpp>

#include <bit>
#include <cstdint>
#include <string>

namespace {

using namespace weft;

class Results {
 public:
  explicit Results(Comm comm) : comm_(std::move(comm)) {}

  void add(const std::string& name, double value) const {
    print(comm_, "{} {:016x}\n", name, std::bit_cast<std::uint64_t>(value));
  }
  void add(const std::string& name, std::complex<double> value) const {
    add(name + ".re", value.real());
    add(name + ".im", value.imag());
  }
  template <class T>
  void add(const std::string& name, const DistributedArray<T>& x) const {
    std::uint64_t hash = 1469598103934665603U + static_cast<std::uint64_t>(comm_.rank());
    for (const T& element : x.to_host()) {
      for (const double part :
           {static_cast<double>(std::real(element)), static_cast<double>(std::imag(element))}) {
        hash = (hash ^ std::bit_cast<std::uint64_t>(part)) * 1099511628211U;
      }
    }
    print(comm_, "{} {:016x}\n", name, comm_.allreduce(hash, ReduceOp::sum));
  }

 private:
  Comm comm_;
};

template <class T>
T number(double re, double im) {
  if constexpr (is_complex<T>)
    return T(static_cast<Real<T>>(re), static_cast<Real<T>>(im));
  else
    return static_cast<T>(re);
}

template <class T>
void vectors(const Results& results, const std::string& type, const Layout& layout) {
  const auto x = random_array<T>(layout, 1);
  const auto y = random_array<T>(layout, 2);
  auto z = random_array<T>(layout, 3);
  axpy(number<T>(0.7, -0.3), x, z);
  results.add(type + ".axpy", z);
  axpby(number<T>(0.7, 0.1), y, number<T>(-1.3, 0.2), z);
  results.add(type + ".axpby", z);
  multiply(x, z);
  results.add(type + ".multiply", z);
  results.add(type + ".abs", abs(z));
  results.add(type + ".dot", dot(x, z));
  results.add(type + ".axpy_dot", axpy_dot(number<T>(1.1, 0.4), x, z, z));
  results.add(type + ".sum", sum(z));
  for (const double order : {0.0, 1.0, 2.0, 3.0}) {
    results.add(fmt::format("{}.norm{}", type, order), norm(z, order));
    results.add(fmt::format("{}.norm{}_along", type, order), norm_along(z, 0, order));
  }
}

template <class T>
void operators(const Results& results, const std::string& type, const Layout& layout) {
  const auto x = random_array<T>(layout, 1);
  const auto both = [&](const std::string& name, const auto& a) {
    const auto y = a * x;
    results.add(fmt::format("{}.{}", type, name), y);
    results.add(fmt::format("{}.{}.adjoint", type, name), adjoint(a) * y);
  };
  for (const int axis : {0, 1}) {
    for (const int order : {3, 5}) {
      both(fmt::format("first_derivative{}{}", axis, order),
           first_derivative<T>(layout,
                               {.axis = axis, .sampling = 0.3, .edge = true, .order = order}));
    }
    both(fmt::format("second_derivative{}", axis),
         second_derivative<T>(layout, {.axis = axis, .sampling = 0.3}));
    both(fmt::format("sum_along{}", axis), sum_along<T>(layout, {.axis = axis}));
  }
  both("laplacian", laplacian<T>(layout, {.weights = {1.0, 0.7}, .sampling = {0.3, 0.9}}));
  both("gradient", gradient<T>(layout, {.sampling = {0.3, 0.9}}));
  both("diagonal", diagonal(random_array<T>(layout, 4)));
}

template <class T>
void solvers(const Results& results, const std::string& type, const Layout& layout) {
  const auto a = first_derivative<T>(layout, {.axis = 0, .kind = DerivativeKind::forward}) +
                 diagonal(random_array<T>(layout, 5));
  const auto y = random_array<T>(layout, 6);
  const SolverOptions options{.max_iterations = 8, .relative_tolerance = 0};
  const auto add = [&](const std::string& name, const auto& fit) {
    results.add(fmt::format("{}.{}.x", type, name), fit.x);
    for (const SolverStatus& status : fit.history) {
      results.add(fmt::format("{}.{}.{}", type, name, status.iteration), status.residual_norm);
    }
  };
  add("cgls", cgls(a, y, options));
  add("lsqr", lsqr(a, y, options));
  add("cg", cg(adjoint(a) * a, y, options));
  add("ista", ista(a, y, options, {.eps = 0.01}));
  add("half", ista(a, y, options, {.eps = 0.01, .threshold = Threshold::half}));
  add("fista", fista(a, y, options, {.eps = 0.01}));
  add("total_variation", total_variation(a, y, options, {.mu = 0.1}));
}

template <class T>
void all(const Comm& world, const std::string& type) {
  const Results results(world);
  vectors<T>(results, type, Layout::scatter(world, {41, 2111}));
  operators<T>(results, type, Layout::scatter(world, {41, 2111}));
  solvers<T>(results, type, Layout::scatter(world, {41, 211}));
  // Outputs larger than the caches are written with non-temporal stores.
  operators<T>(results, type + ".large", Layout::replicated(world, {1100, 2000}));
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, [](const Comm& world) {
    all<float>(world, "float");
    all<double>(world, "double");
    all<std::complex<float>>(world, "complex<float>");
    all<std::complex<double>>(world, "complex<double>");
  });
}
