#include "peer/session.hpp"

#include <complex>

namespace weft::peer {
namespace {

using Numbers = std::vector<double>;

RadonAxis radon_axis(const Session& session) {
  return {.offsets = session.get("offsets", Numbers{}),
          .slownesses = session.get("slownesses", Numbers{}),
          .curve = session.get("parabolic", false) ? RadonCurve::parabolic : RadonCurve::linear};
}

WindowOptions windows_of(const Session& session) {
  const auto taper = session.get<std::string>("taper", "hanning");
  return {.window = session.get("window", std::vector<index_t>{}),
          .overlap = session.get("overlap", std::vector<index_t>{0}),
          .taper = taper == "none"           ? Taper::none
                   : taper == "cosinesquare" ? Taper::cosine_square
                                             : Taper::hanning};
}

/// A dense matrix on local arrays, from the option "matrix".
template <Scalar T>
LinearOperator<T> matrix_of(const Session& session) {
  const auto shape = session.get("matrix_shape", std::vector<index_t>{});
  const Layout layout = Layout::local({shape.at(0), shape.at(1)});
  return matrix_mult<T>(DistributedArray<T>::from_global(layout, session.values<T>("matrix")));
}

AvoLinearization linearization_of(const Session& session) {
  const auto name = session.get<std::string>("linearization", "akirich");
  if (name == "fatti") return fatti;
  return name == "ps" ? AvoLinearization(ps) : AvoLinearization(aki_richards);
}

}  // namespace

template <Scalar T>
std::vector<NamedOperator> imaging_operators() {
  std::vector<NamedOperator> operators = {
      {"sliding",
       [](const Session& s, const Layout& layout) {
         const Shape shape = shape_of(s.get("data_shape", std::vector<index_t>{}));
         const Layout data = layout.comm().size() == 1 ? Layout::local(shape)
                                                       : Layout::scatter(layout.comm(), shape);
         s.apply(sliding(data, matrix_of<T>(s), s.get("axes", std::vector<int>{}), windows_of(s)));
       }},
      {"poststack_modelling",
       [](const Session& s, const Layout& layout) {
         s.apply(poststack_modelling<T>(layout, s.values<T>("wavelet")));
       }},
      {"avo_modelling",
       [](const Session& s, const Layout& layout) {
         s.apply(avo_modelling<T>(
             layout, s.get("theta", Numbers{}),
             {.vsvp = s.get("vsvp", Numbers{0.5}), .linearization = linearization_of(s)}));
       }},
      {"prestack_modelling",
       [](const Session& s, const Layout& layout) {
         s.apply(prestack_modelling<T>(
             layout, s.values<T>("wavelet"), s.get("theta", Numbers{}),
             {.vsvp = s.get("vsvp", Numbers{0.5}), .linearization = linearization_of(s)}));
       }},
      {"spread",
       [](const Session& s, const Layout& layout) {
         const auto range = s.get("data_shape", std::vector<index_t>{});
         s.apply(spread<T>(Layout::replicated(layout.comm(), layout.shape()),
                           Layout::scatter(layout.comm(), shape_of(range)),
                           s.values<double>("table")));
       }},
  };
  if constexpr (!is_complex<T>) {
    operators.push_back(
        {"fourier_radon2d", [](const Session& s, const Layout& layout) {
           s.apply(fourier_radon2d<T>(layout, radon_axis(s),
                                      {.dt = s.get("dt", 1.0), .nfft = s.get<index_t>("nfft", 0)}));
         }});
  }
  return operators;
}

template std::vector<NamedOperator> imaging_operators<double>();
template std::vector<NamedOperator> imaging_operators<std::complex<double>>();

}  // namespace weft::peer
