// Fourier transforms along all axes, of which the first is distributed. The floor is a plan of
// FFTW; on several ranks FFTW-MPI if it is installed, otherwise a copy.

#include "apply.hpp"

#include <fftw3.h>
#ifdef WEFT_WITH_FFTW_MPI
#include <fftw3-mpi.h>
#endif

using namespace weft;
using nlohmann::json;

namespace compare {
namespace {

using Complex = std::complex<double>;

fftw_complex* fftw_cast(Complex* data) { return reinterpret_cast<fftw_complex*>(data); }

std::vector<int> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

double time_plan(const Session& session, fftw_plan plan) {
  const double time = median(session.time([&] { fftw_execute(plan); }).seconds);
  fftw_destroy_plan(plan);
  return time;
}

template <Scalar D>
void find_floor(const Session& session, const Shape& shape, Outcome& outcome) {
  const Layout layout = Layout::scatter(session.comm(), shape);
  DistributedArray<D> in(layout);
  DistributedArray<Complex> out(layout);  // also large enough for half a spectrum
  fill_noise(in, 1);
  const std::vector<int> extents = extents_of(shape);
  const unsigned flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT;
  if (session.comm().size() == 1) {
    outcome.floor = "FFTW alone";
    if constexpr (is_complex<D>) {
      outcome.floor_seconds =
          time_plan(session, fftw_plan_dft(shape.ndim(), extents.data(), fftw_cast(in.data()),
                                           fftw_cast(out.data()), FFTW_FORWARD, flags));
    } else {
      outcome.floor_seconds =
          time_plan(session, fftw_plan_dft_r2c(shape.ndim(), extents.data(), in.data(),
                                               fftw_cast(out.data()), FFTW_ESTIMATE));
    }
    return;
  }
#ifdef WEFT_WITH_FFTW_MPI
  if (session.comm().transport() == "mpi") {
    fftw_mpi_init();
    const std::vector<std::ptrdiff_t> sizes(extents.begin(), extents.end());
    std::vector<std::ptrdiff_t> spectrum = sizes;
    if (!is_complex<D>) spectrum.back() = sizes.back() / 2 + 1;
    std::ptrdiff_t rows = 0;
    std::ptrdiff_t first = 0;
    const std::ptrdiff_t count =
        fftw_mpi_local_size(shape.ndim(), spectrum.data(), MPI_COMM_WORLD, &rows, &first);
    std::vector<Complex> from(static_cast<std::size_t>(count));
    std::vector<Complex> to(static_cast<std::size_t>(count));
    const fftw_plan plan =
        is_complex<D> ? fftw_mpi_plan_dft(shape.ndim(), sizes.data(), fftw_cast(from.data()),
                                          fftw_cast(to.data()), MPI_COMM_WORLD, FFTW_FORWARD, flags)
                      : fftw_mpi_plan_dft_r2c(shape.ndim(), sizes.data(),
                                              reinterpret_cast<double*>(from.data()),
                                              fftw_cast(to.data()), MPI_COMM_WORLD, FFTW_ESTIMATE);
    outcome.floor = "FFTW-MPI";
    outcome.floor_seconds = time_plan(session, plan);
    return;
  }
#endif
  outcome.floor = "copy of 2 arrays";
  outcome.floor_seconds = copy_floor<D>(session, layout, 2);
}

template <Scalar D>
Outcome run_of(Session& session, const json& options) {
  const Shape shape = shape_of(options);
  const auto F = fftnd<D>(Layout::scatter(session.comm(), shape), {.norm = FftNorm::none});
  Outcome outcome;
  outcome.ours = time_apply(session, options, F);
  find_floor<D>(session, shape, outcome);
  return outcome;
}

Outcome run_fftnd(Session& session, const json& options) {
  return options.at("dtype") == "complex128" ? run_of<Complex>(session, options)
                                             : run_of<double>(session, options);
}

}  // namespace

std::vector<Named> fourier_problems() { return {{"fftnd", run_fftnd}}; }

}  // namespace compare
