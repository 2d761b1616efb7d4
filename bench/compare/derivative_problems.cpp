// Derivatives along the distributed axis and along the others.

#include "apply.hpp"

using namespace weft;
using nlohmann::json;

namespace compare {
namespace {

template <Scalar T, class Make>
Outcome apply_to(Session& session, const json& options, int arrays, Make make) {
  const Layout layout = Layout::scatter(session.comm(), shape_of(options));
  const LinearOperator<T> a = make(layout);
  return {time_apply(session, options, a), copy_floor<T>(session, layout, arrays),
          fmt::format("copy of {} arrays", arrays)};
}

/// make(layout, T{}) returns the operator for arrays of T, by default double.
template <class Make>
Outcome of_type(Session& session, const json& options, int arrays, Make make) {
  if (options.value("dtype", "float64") == "float32") {
    return apply_to<float>(session, options, arrays,
                           [&](const Layout& layout) { return make(layout, float{}); });
  }
  return apply_to<double>(session, options, arrays,
                          [&](const Layout& layout) { return make(layout, double{}); });
}

Outcome run_first(Session& session, const json& options) {
  return of_type(session, options, 2, []<class T>(const Layout& layout, T) {
    return first_derivative<T>(layout, {.axis = 0});
  });
}

Outcome run_second(Session& session, const json& options) {
  return of_type(session, options, 2, []<class T>(const Layout& layout, T) {
    return second_derivative<T>(layout, {.axis = 0});
  });
}

Outcome run_laplacian(Session& session, const json& options) {
  return of_type(session, options, 2, []<class T>(const Layout& layout, T) {
    std::vector<int> axes;
    for (int axis = 0; axis < layout.ndim(); ++axis) axes.push_back(axis);
    return laplacian<T>(layout, {.axes = axes});
  });
}

Outcome run_gradient(Session& session, const json& options) {
  return of_type(session, options, 1 + shape_of(options).ndim(),
                 []<class T>(const Layout& layout, T) { return gradient<T>(layout); });
}

}  // namespace

std::vector<Named> derivative_problems() {
  return {{"first_derivative", run_first},
          {"second_derivative", run_second},
          {"laplacian", run_laplacian},
          {"gradient", run_gradient}};
}

}  // namespace compare
