#include "peer/session.hpp"

#include <complex>

namespace weft::peer {

template <Scalar T>
std::vector<NamedOperator> basic_operators() {
  return {
      {"identity", [](const Session& s, const Layout& layout) { s.apply(identity<T>(layout)); }},
      {"zero", [](const Session& s, const Layout& layout) { s.apply(zero<T>(layout, layout)); }},
      {"diagonal",
       [](const Session& s, const Layout& layout) {
         s.apply(diagonal<T>(layout, s.values<T>("diagonal"), {.axis = s.get("axis", -1)}));
       }},
      {"pad",
       [](const Session& s, const Layout& layout) {
         std::vector<AxisPadding> widths;
         for (const Json& width : s.options().at("widths"))
           widths.push_back({width.at(0).get<index_t>(), width.at(1).get<index_t>()});
         s.apply(pad<T>(layout, widths));
       }},
      {"restriction",
       [](const Session& s, const Layout& layout) {
         const auto indices = s.get("indices", std::vector<index_t>{});
         s.apply(restriction<T>(layout, indices, {.axis = s.get("axis", -1)}));
       }},
      {"sum_along",
       [](const Session& s, const Layout& layout) {
         s.apply(sum_along<T>(layout, {.axis = s.get("axis", -1)}));
       }},
      {"transpose_axes",
       [](const Session& s, const Layout& layout) {
         s.apply(transpose_axes<T>(layout, s.get("axes", std::vector<int>{})));
       }},
      {"flip", [](const Session& s,
                  const Layout& layout) { s.apply(flip<T>(layout, {.axis = s.get("axis", -1)})); }},
      {"roll",
       [](const Session& s, const Layout& layout) {
         s.apply(roll<T>(layout, {.axis = s.get("axis", -1), .shift = s.get<index_t>("shift", 1)}));
       }},
      {"symmetrize",
       [](const Session& s, const Layout& layout) {
         s.apply(symmetrize<T>(layout, {.axis = s.get("axis", -1)}));
       }},
      {"regression",
       [](const Session& s, const Layout& layout) {
         const auto t = s.values<double>("t");
         const Layout data = Layout::scatter(layout.comm(), {static_cast<index_t>(t.size())});
         s.apply(regression<T>(DistributedArray<double>::from_global(data, t),
                               {.order = s.get("order", 1)}));
       }},
      {"kronecker",
       [](const Session& s, const Layout& layout) {
         s.apply(
             kronecker(first_derivative<T>(Layout::local({layout.shape()[0]})),
                       diagonal<T>(Layout::local({layout.shape()[1]}), s.values<T>("diagonal"))));
       }},
      {"real_part", [](const Session& s, const Layout& layout) { s.apply(real_part<T>(layout)); }},
      {"imag_part", [](const Session& s, const Layout& layout) { s.apply(imag_part<T>(layout)); }},
      {"conjugation",
       [](const Session& s, const Layout& layout) { s.apply(conjugation<T>(layout)); }},
  };
}

template std::vector<NamedOperator> basic_operators<double>();
template std::vector<NamedOperator> basic_operators<std::complex<double>>();

}  // namespace weft::peer
