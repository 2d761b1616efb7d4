#include "peer/session.hpp"

#include <complex>
#include <type_traits>

namespace weft::peer {
namespace {

/// The array in the file that the option "matrix" names, distributed along its first axis.
template <Scalar T>
DistributedArray<T> matrix_of(const Session& session, const Comm& comm) {
  const Shape shape = shape_of(session.get("matrix_shape", std::vector<index_t>{}));
  return DistributedArray<T>::from_global(Layout::scatter(comm, shape),
                                          session.values<T>("matrix"));
}

}  // namespace

template <Scalar T>
std::vector<NamedOperator> matrix_operators() {
  std::vector<NamedOperator> operators = {
      {"matrix_mult",
       [](const Session& s, const Layout& layout) {
         const auto columns = s.get<index_t>("columns", 0);
         s.apply(matrix_mult<T>(matrix_of<T>(s, layout.comm()),
                                {.other = columns == 0 ? Shape{} : Shape{columns}}));
       }},
      {"fredholm1",
       [](const Session& s, const Layout& layout) {
         s.apply(fredholm1<T>(matrix_of<T>(s, layout.comm()), {.nz = s.get<index_t>("nz", 1)}));
       }},
  };
  if constexpr (!is_complex<T>) {
    operators.push_back({"mdc", [](const Session& s, const Layout& layout) {
                           s.apply(mdc(matrix_of<std::complex<T>>(s, layout.comm()),
                                       {.nt = s.get<index_t>("nt", 1),
                                        .nv = s.get<index_t>("nv", 1),
                                        .twosided = s.get("twosided", true)},
                                       {.dt = s.get("dt", 1.0), .dr = s.get("dr", 1.0)}));
                         }});
  }
  return operators;
}

template std::vector<NamedOperator> matrix_operators<double>();
template std::vector<NamedOperator> matrix_operators<std::complex<double>>();

}  // namespace weft::peer
