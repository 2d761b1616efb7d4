#include "peer/session.hpp"

#include <complex>
#include <span>

namespace weft::peer {
namespace {

DerivativeKind kind_of(const Session& session) {
  const auto name = session.get<std::string>("kind", "centered");
  if (name == "forward") return DerivativeKind::forward;
  return name == "backward" ? DerivativeKind::backward : DerivativeKind::centered;
}

using Numbers = std::vector<double>;

DirectionalDerivativeOptions options_of(const Session& session) {
  return {.sampling = session.get("sampling", Numbers{1}),
          .edge = session.get("edge", false),
          .kind = kind_of(session)};
}

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
      {"first_directional_derivative",
       [](const Session& s, const Layout& layout) {
         s.apply(first_directional_derivative<T>(layout, s.get("v", Numbers{}), options_of(s)));
       }},
      {"second_directional_derivative",
       [](const Session& s, const Layout& layout) {
         s.apply(second_directional_derivative<T>(layout, s.get("v", Numbers{}), options_of(s)));
       }},
      {"first_directional_derivative in a field",
       [](const Session& s, const Layout& layout) {
         const std::vector<T> all = s.values<T>("field");
         const auto count = static_cast<std::size_t>(layout.count());
         DistributedArray<T> v(Layout::stack(std::vector(2, layout)));
         for (std::size_t axis = 0; axis < 2; ++axis) {
           const std::span part(all.data() + axis * count, count);
           v.part(static_cast<int>(axis))
               .from_host(DistributedArray<T>::from_global(layout, part).to_host());
         }
         s.apply(first_directional_derivative<T>(layout, v, options_of(s)));
       }},
  };
}

template std::vector<NamedOperator> stencil_operators<double>();
template std::vector<NamedOperator> stencil_operators<std::complex<double>>();

}  // namespace weft::peer
