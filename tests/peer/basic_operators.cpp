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
      {"real_part", [](const Session& s, const Layout& layout) { s.apply(real_part<T>(layout)); }},
      {"imag_part", [](const Session& s, const Layout& layout) { s.apply(imag_part<T>(layout)); }},
      {"conjugation",
       [](const Session& s, const Layout& layout) { s.apply(conjugation<T>(layout)); }},
  };
}

template std::vector<NamedOperator> basic_operators<double>();
template std::vector<NamedOperator> basic_operators<std::complex<double>>();

}  // namespace weft::peer
