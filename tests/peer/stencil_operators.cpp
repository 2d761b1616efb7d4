#include "peer/session.hpp"

#include <complex>

namespace weft::peer {
namespace {

DerivativeKind kind_of(const Session& session) {
  const auto name = session.get<std::string>("kind", "centered");
  if (name == "forward") return DerivativeKind::forward;
  return name == "backward" ? DerivativeKind::backward : DerivativeKind::centered;
}

using Numbers = std::vector<double>;

}  // namespace

template <Scalar T>
std::vector<NamedOperator> stencil_operators() {
  return {
      {"first_derivative",
       [](const Session& s, const Layout& layout) {
         s.apply(first_derivative<T>(layout, {.axis = s.get("axis", -1),
                                              .sampling = s.get("sampling", 1.0),
                                              .kind = kind_of(s),
                                              .edge = s.get("edge", false),
                                              .order = s.get("order", 3)}));
       }},
      {"second_derivative",
       [](const Session& s, const Layout& layout) {
         s.apply(second_derivative<T>(layout, {.axis = s.get("axis", -1),
                                               .sampling = s.get("sampling", 1.0),
                                               .kind = kind_of(s),
                                               .edge = s.get("edge", false)}));
       }},
      {"laplacian",
       [](const Session& s, const Layout& layout) {
         s.apply(laplacian<T>(layout, {.axes = s.get("axes", std::vector{-2, -1}),
                                       .weights = s.get("weights", Numbers{1}),
                                       .sampling = s.get("sampling", Numbers{1}),
                                       .edge = s.get("edge", false),
                                       .kind = kind_of(s)}));
       }},
      {"gradient",
       [](const Session& s, const Layout& layout) {
         s.apply(gradient<T>(layout, {.sampling = s.get("sampling", Numbers{1}),
                                      .edge = s.get("edge", false),
                                      .kind = kind_of(s)}));
       }},
  };
}

template std::vector<NamedOperator> stencil_operators<double>();
template std::vector<NamedOperator> stencil_operators<std::complex<double>>();

}  // namespace weft::peer
