#include "peer/session.hpp"

#include <array>
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

InterpKind interp_of(const Session& session) {
  const auto name = session.get<std::string>("kind", "linear");
  if (name == "nearest") return InterpKind::nearest;
  if (name == "sinc") return InterpKind::sinc;
  return name == "cubic_spline" ? InterpKind::cubic_spline : InterpKind::linear;
}

IntegrationKind integration_of(const Session& session) {
  const auto name = session.get<std::string>("kind", "full");
  if (name == "half") return IntegrationKind::half;
  return name == "trapezoidal" ? IntegrationKind::trapezoidal : IntegrationKind::full;
}

using Indices = std::vector<index_t>;

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
      {"convolve_nd",
       [](const Session& s, const Layout& layout) {
         s.apply(convolve_nd<T>(layout, shape_of(s.get("filter_shape", Indices{})),
                                s.values<T>("filter"),
                                {.offset = s.get("offset", Indices{}),
                                 .axes = s.get("axes", std::vector<int>{}),
                                 .method = method_of(s)}));
       }},
      {"non_stationary_convolve2d",
       [](const Session& s, const Layout& layout) {
         s.apply(non_stationary_convolve2d<T>(
             layout, {.shape = shape_of(s.get("filter_shape", Indices{})),
                      .positions = s.get("positions", std::vector<Indices>{}),
                      .filters = s.values<T>("filters")}));
       }},
      {"non_stationary_filters1d",
       [](const Session& s, const Layout& layout) {
         const auto input = s.values<T>("input");
         const Layout data = Layout::scatter(layout.comm(), {static_cast<index_t>(input.size())});
         s.apply(non_stationary_filters1d<T>(DistributedArray<T>::from_global(data, input),
                                             s.get<index_t>("taps", 1),
                                             s.get("positions", Indices{})));
       }},
      {"smoothing",
       [](const Session& s, const Layout& layout) {
         s.apply(smoothing<T>(layout, s.get("lengths", Indices{}),
                              {.axes = s.get("axes", std::vector<int>{})}));
       }},
      {"causal_integration",
       [](const Session& s, const Layout& layout) {
         s.apply(causal_integration<T>(layout, {.axis = s.get("axis", -1),
                                                .sampling = s.get("sampling", 1.0),
                                                .kind = integration_of(s),
                                                .remove_first = s.get("remove_first", false)}));
       }},
      {"interp",
       [](const Session& s, const Layout& layout) {
         const auto positions = s.get("positions", std::vector<double>{});
         s.apply(interp<T>(layout, positions, {.axis = s.get("axis", -1), .kind = interp_of(s)}));
       }},
      {"bilinear",
       [](const Session& s, const Layout& layout) {
         const auto positions = s.get("positions", std::vector<std::array<double, 2>>{});
         s.apply(bilinear<T>(layout, positions));
       }},
      {"shift",
       [](const Session& s, const Layout& layout) {
         s.apply(shift<T>(layout, {.shift = s.get("shift", std::vector<double>{}),
                                   .axis = s.get("axis", -1),
                                   .sampling = s.get("sampling", 1.0),
                                   .nfft = s.get<index_t>("nfft", 0)}));
       }},
      {"dct",
       [](const Session& s, const Layout& layout) {
         s.apply(
             dct<T>(layout, {.type = s.get("type", 2), .axes = s.get("axes", std::vector<int>{})}));
       }},
      {"dwt",
       [](const Session& s, const Layout& layout) {
         s.apply(dwt<T>(layout, {.wavelet = s.get<std::string>("wavelet", "haar"),
                                 .axis = s.get("axis", -1),
                                 .level = s.get("level", 1)}));
       }},
      {"dwtnd",
       [](const Session& s, const Layout& layout) {
         s.apply(dwtnd<T>(layout, {.wavelet = s.get<std::string>("wavelet", "haar"),
                                   .axes = s.get("axes", std::vector<int>{}),
                                   .level = s.get("level", 1)}));
       }},
  };
}

template std::vector<NamedOperator> signal_operators<double>();
template std::vector<NamedOperator> signal_operators<std::complex<double>>();

}  // namespace weft::peer
