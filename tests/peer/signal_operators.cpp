#include "peer/session.hpp"

#include <complex>

namespace weft::peer {
namespace {

FftNorm norm_of(const Session& session) {
  const auto name = session.get<std::string>("norm", "ortho");
  if (name == "none") return FftNorm::none;
  return name == "1/n" ? FftNorm::one_over_n : FftNorm::ortho;
}

ConvolutionMethod method_of(const Session& session) {
  const auto name = session.get<std::string>("method", "automatic");
  if (name == "direct") return ConvolutionMethod::direct;
  return name == "fft" ? ConvolutionMethod::fft : ConvolutionMethod::automatic;
}

}  // namespace

template <Scalar T>
std::vector<NamedOperator> signal_operators() {
  return {
      {"fft",
       [](const Session& s, const Layout& layout) {
         const int axis = s.get("axis", -1);
         const int at = axis < 0 ? layout.ndim() + axis : axis;
         s.apply(fft<T>(layout, {.axis = axis,
                                 .nfft = s.get<index_t>("nfft", layout.shape()[at]),
                                 .norm = norm_of(s),
                                 .ifftshift_before = s.get("ifftshift_before", false),
                                 .fftshift_after = s.get("fftshift_after", false)}));
       }},
      {"fftnd",
       [](const Session& s, const Layout& layout) {
         s.apply(fftnd<T>(layout, {.axes = s.get("axes", std::vector<int>{}),
                                   .nfft = s.get("nfft", std::vector<index_t>{}),
                                   .norm = norm_of(s)}));
       }},
      {"convolve1d",
       [](const Session& s, const Layout& layout) {
         s.apply(convolve1d<T>(layout, s.values<T>("filter"),
                               {.offset = s.get<index_t>("offset", 0),
                                .axis = s.get("axis", -1),
                                .method = method_of(s)}));
       }},
      {"non_stationary_convolve1d",
       [](const Session& s, const Layout& layout) {
         const auto positions = s.get("positions", std::vector<index_t>{});
         const std::vector<T> all = s.values<T>("filters");
         const auto length = static_cast<std::ptrdiff_t>(all.size() / positions.size());
         std::vector<std::vector<T>> filters;
         for (auto first = all.begin(); first != all.end(); first += length)
           filters.emplace_back(first, first + length);
         s.apply(
             non_stationary_convolve1d<T>(layout, filters, positions, {.axis = s.get("axis", -1)}));
       }},
  };
}

template std::vector<NamedOperator> signal_operators<double>();
template std::vector<NamedOperator> signal_operators<std::complex<double>>();

}  // namespace weft::peer
