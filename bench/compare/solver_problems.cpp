// Solver iterations on the problems of PyLops-MPI's tutorials and on derivatives. Each runs a fixed
// number of steps from the same start, so that iterates can be compared.

#include "inputs.hpp"
#include "measure.hpp"

#include <optional>

using namespace weft;
using nlohmann::json;

namespace compare {
namespace {

// Arrays that an iteration reads or writes if all possible passes are fused.
constexpr int cg_passes = 10;     // A p: 2; r: 3; x and p together: 5
constexpr int cgls_passes = 12;   // A, and its adjoint: 4; r: 3; x and p together: 5
constexpr int ista_passes = 6;    // residual: 3; adjoint, step and threshold: 3
constexpr int fista_passes = 9;   // the same, and the momentum step: 3
constexpr int arrays_around = 6;  // about the arrays of an iteration

SolverOptions fixed(index_t steps) {
  SolverOptions options;
  options.max_iterations = steps;
  options.relative_tolerance = 0;
  return options;
}

index_t steps_of(const json& options) { return options.at("steps").get<index_t>(); }

/// make() returns a solver. Times its iterations; its result is the answer.
template <Scalar T, class Make>
Outcome time_steps(const Session& session, const json& options, const Layout& layout, int passes,
                   Make make) {
  const index_t steps = steps_of(options);
  std::optional<std::invoke_result_t<Make>> solver;
  Outcome outcome;
  outcome.ours = session.time(
      [&] {
        solver.reset();  // so that the next one reuses its memory
        solver.emplace(make());
      },
      [&] {
        while ((*solver)->step()) continue;
      },
      static_cast<double>(steps));
  require((*solver)->iteration() == steps, "{} of {} steps: {}", (*solver)->iteration(), steps,
          (*solver)->message());
  session.answer((*solver)->x());
  solver.reset();
  outcome.floor_seconds = copy_floor<T>(session, layout, passes, arrays_around);
  outcome.floor = fmt::format("copy of {} arrays", passes);
  return outcome;
}

template <Scalar T>
Outcome cgls_first_derivative(Session& session, const json& options) {
  const Layout layout = Layout::scatter(session.comm(), shape_of(options));
  const auto a = first_derivative<T>(layout, {.axis = 0});
  DistributedArray<T> y(layout);
  fill_noise(y, 1);
  return time_steps<T>(session, options, layout, cgls_passes, [&] {
    return std::make_unique<Cgls<T, T>>(a, y, fixed(steps_of(options)));
  });
}

Outcome run_cgls_first_derivative(Session& session, const json& options) {
  return options.value("dtype", "float64") == "float32"
             ? cgls_first_derivative<float>(session, options)
             : cgls_first_derivative<double>(session, options);
}

/// Traces [y, x, time] of a layered model, as in the tutorial on post-stack inversion.
struct Poststack {
  Layout layout;
  DistributedArray<double> model;
  DistributedArray<double> start;

  Poststack(const Comm& comm, const Shape& shape)
      : layout(Layout::scatter(comm, shape)), model(layout), start(layout) {
    model.fill([&](const Index& at) { return log_impedance(shape, at); });
    start.fill([&](const Index& at) { return background(shape, at); });
  }
  LinearOperator<double> convolution() const {
    return convolve1d<double>(layout, wavelet(), {.offset = 20, .axis = 2});
  }
  LinearOperator<double> modelling() const {
    return convolution() * first_derivative<double>(layout, {.axis = 2});
  }
};

Outcome run_poststack_cgls(Session& session, const json& options) {
  const Poststack problem(session.comm(), shape_of(options));
  const auto a = problem.modelling();
  const DistributedArray<double> data = a * problem.model;
  return time_steps<double>(session, options, problem.layout, cgls_passes, [&] {
    return std::make_unique<Cgls<double, double>>(a, data, fixed(steps_of(options)),
                                                  CglsOptions<double>{.x0 = problem.start});
  });
}

Outcome run_poststack_cg(Session& session, const json& options) {
  constexpr double weight = 1e2;
  const Poststack problem(session.comm(), shape_of(options));
  const auto a = problem.modelling();
  const auto roughness = laplacian<double>(problem.layout, {.axes = {0, 1, 2}});
  const auto normal = a.normal() + weight * roughness.normal();
  const DistributedArray<double> data = adjoint(a) * (a * problem.model);
  return time_steps<double>(session, options, problem.layout, cg_passes, [&] {
    return std::make_unique<Cg<double>>(normal, data, fixed(steps_of(options)),
                                        CgOptions<double>{.x0 = problem.start});
  });
}

/// From a model and a background to the inverted model: operators, data, and all iterations.
Outcome run_poststack_end_to_end(Session& session, const json& options) {
  const Poststack problem(session.comm(), shape_of(options));
  std::optional<Solution<double>> solution;
  Outcome outcome;
  outcome.ours = session.time([&] { solution.reset(); },
                              [&] {
                                const auto a = problem.modelling();
                                solution = cgls(a, a * problem.model, fixed(steps_of(options)),
                                                {.x0 = problem.start});
                              },
                              1);
  session.answer(solution->x);
  const auto passes = static_cast<int>(cgls_passes * steps_of(options));
  outcome.floor_seconds = copy_floor<double>(session, problem.layout, passes, arrays_around);
  outcome.floor = fmt::format("copy of {} arrays", passes);
  return outcome;
}

template <template <Scalar, Scalar> class Method>
Outcome run_reflectivity(Session& session, const json& options, int passes) {
  const Poststack problem(session.comm(), shape_of(options));
  const auto a = problem.convolution();
  const DistributedArray<double> data =
      a * (first_derivative<double>(problem.layout, {.axis = 2}) * problem.model);
  IstaOptions<double> how;
  how.eps = options.at("eps").get<double>() / 2;  // PyLops omits the factor 1/2 of the misfit
  how.step = options.at("step").get<double>();
  how.restart = false;
  return time_steps<double>(session, options, problem.layout, passes, [&] {
    return std::make_unique<Method<double, double>>(a, data, fixed(steps_of(options)), how);
  });
}

Outcome run_ista(Session& session, const json& options) {
  return run_reflectivity<Ista>(session, options, ista_passes);
}
Outcome run_fista(Session& session, const json& options) {
  return run_reflectivity<Fista>(session, options, fista_passes);
}

#ifdef WEFT_WITH_FFTW
Outcome run_mdd_cgls(Session& session, const json& options) {
  const Shape shape = shape_of(options);
  DistributedArray<std::complex<float>> kernel(Layout::scatter(session.comm(), shape));
  fill_noise(kernel, 10, 1 / std::sqrt(static_cast<double>(shape[1])));
  const auto a =
      mdc(std::move(kernel), {.nt = options.at("nt").get<index_t>()}, {.prescaled = true});
  DistributedArray<float> model(a.domain());
  fill_noise(model, 1);
  const DistributedArray<float> data = a * model;
  Outcome outcome = time_steps<float>(session, options, a.domain(), cgls_passes, [&] {
    return std::make_unique<Cgls<float, float>>(a, data, fixed(steps_of(options)));
  });
  // The kernel, which is larger than the vectors, is read twice.
  outcome.floor_seconds =
      copy_floor<std::complex<float>>(session, Layout::scatter(session.comm(), shape), 2);
  outcome.floor = "copy of 2 kernels";
  return outcome;
}
#endif

/// 6 x - (the six neighbours), with zeros beyond the grid, as a user writes it in one pass: ghost
/// planes from a HaloExchange, rows from the array.
class DirichletLaplacian {
 public:
  explicit DirichletLaplacian(const Layout& layout)
      : halo_(layout, {{1, 1}, {0, 0}, {0, 0}}),
        zeros_(static_cast<std::size_t>(layout.shape()[2])) {}

  void operator()(const ConstArrayView<double>& x, const ArrayView<double>& y) {
    halo_.run(x);
    const Shape& n = x.local_shape();
    const index_t plane = n[1] * n[2];
    for (index_t i = 0; i < n[0]; ++i) {
      const double* here = x.data() + i * plane;
      const double* above = i > 0 ? here - plane : halo_.ghosts(0, Side::before);
      const double* below = i + 1 < n[0] ? here + plane : halo_.ghosts(0, Side::after);
      for (index_t j = 0; j < n[1]; ++j) {
        row(n[2], here + j * n[2], above + j * n[2], below + j * n[2],
            j > 0 ? here + (j - 1) * n[2] : zeros_.data(),
            j + 1 < n[1] ? here + (j + 1) * n[2] : zeros_.data(), y.data() + i * plane + j * n[2]);
      }
    }
  }

 private:
  static void row(index_t n, const double* here, const double* above, const double* below,
                  const double* before, const double* after, double* __restrict out) {
    const auto at = [&](index_t k, double left, double right) {
      out[k] = 6 * here[k] - above[k] - below[k] - before[k] - after[k] - left - right;
    };
    if (n == 1) return at(0, 0, 0);
    at(0, 0, here[1]);
    for (index_t k = 1; k + 1 < n; ++k) at(k, here[k - 1], here[k + 1]);
    at(n - 1, here[n - 2], 0);
  }

  HaloExchange<double> halo_;
  std::vector<double> zeros_;
};

Outcome run_cg_laplacian(Session& session, const json& options) {
  const Layout layout = Layout::scatter(session.comm(), shape_of(options));
  const auto make_operator = [&] {
    if (options.at("operator") == "function") {
      auto apply = std::make_shared<DirichletLaplacian>(layout);
      const auto call = [apply](const auto& x, auto& y) { (*apply)(x, y); };
      return function_operator<double>(layout, layout, call, call, "dirichlet");
    }
    const auto surround = pad<double>(layout, {{1, 1}, {1, 1}, {1, 1}});
    const auto inner = laplacian<double>(surround.range(), {.axes = {0, 1, 2}});
    return -(adjoint(surround) * inner * surround);
  };
  const LinearOperator<double> a = make_operator();
  DistributedArray<double> y(layout);
  fill_noise(y, 1);
  return time_steps<double>(session, options, layout, cg_passes, [&] {
    return std::make_unique<Cg<double>>(a, y, fixed(steps_of(options)));
  });
}

}  // namespace

std::vector<Named> solver_problems() {
  return {{"cgls_first_derivative", run_cgls_first_derivative},
          {"poststack_cgls", run_poststack_cgls},
          {"poststack_cg", run_poststack_cg},
          {"poststack_end_to_end", run_poststack_end_to_end},
          {"reflectivity_ista", run_ista},
          {"reflectivity_fista", run_fista},
#ifdef WEFT_WITH_FFTW
          {"mdd_cgls", run_mdd_cgls},
#endif
          {"cg_laplacian", run_cg_laplacian}};
}

}  // namespace compare
