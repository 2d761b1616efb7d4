// One rank with two threads against two ranks with one thread: finds work that uses one thread of a
// rank only.

#include <weft/weft.hpp>

#include "report.hpp"

#include <unistd.h>

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

using namespace weft;

namespace {

using C = std::complex<double>;
using Work = std::function<void()>;

/// A case to time: `prepare` returns the timed function for a communicator.
struct Case {
  std::string name;
  std::function<Work(const Comm&)> prepare;
};

constexpr index_t many = 1 << 22;
const Shape line{many};
const Shape plane{2048, 2048};
const Shape volume{128, 128, 256};
// Three rows, which two threads or ranks cannot share evenly.
const Shape few{3, many / 4};

template <Scalar T>
DistributedArray<T> numbers(const Layout& layout, std::uint64_t seed = 1) {
  return random_array<T>(layout, seed);
}

/// Arrays of a case, kept alive by its function.
template <Scalar D, Scalar R = D>
struct Arrays {
  DistributedArray<D> x;
  DistributedArray<R> y;

  Arrays(const Layout& domain, const Layout& range)
      : x(numbers<D>(domain)), y(numbers<R>(range, 2)) {}
};

class Cases {
 public:
  /// f(x, y) of two arrays.
  template <Scalar T, class F>
  void add_array(const std::string& name, const Shape& shape, F f) {
    all.push_back({fmt::format("{}, {}", name, to_string(shape)), [=](const Comm& comm) -> Work {
                     const Layout layout = Layout::scatter(comm, shape, longest_axis(shape));
                     auto arrays = std::make_shared<Arrays<T>>(layout, layout);
                     return [=] { f(arrays->x, arrays->y); };
                   }});
  }
  /// An operator, forward and adjoint.
  template <Scalar D, Scalar R = D, class Make>
  void add(const std::string& name, Make make) {
    const auto both = [&](const std::string& way, bool forward) {
      all.push_back({name + way, [=](const Comm& comm) -> Work {
                       const LinearOperator<D, R> a = make(comm);
                       auto arrays = std::make_shared<Arrays<D, R>>(a.domain(), a.range());
                       return [=] {
                         if (forward) {
                           a.forward(arrays->x, arrays->y);
                         } else {
                           a.adjoint(arrays->y, arrays->x);
                         }
                       };
                     }});
    };
    both("", true);
    both(", adjoint", false);
  }
  /// An operator on a layout that is distributed along its longest axis.
  template <Scalar D, Scalar R = D, class Make>
  void add_on(const std::string& name, const Shape& shape, Make make) {
    add<D, R>(fmt::format("{}, {}", name, to_string(shape)), [=](const Comm& comm) {
      return make(Layout::scatter(comm, shape, longest_axis(shape)));
    });
  }

  static int longest_axis(const Shape& shape) {
    int longest = 0;
    for (int axis = 1; axis < shape.ndim(); ++axis) {
      if (shape[axis] > shape[longest]) longest = axis;
    }
    return longest;
  }

  std::vector<Case> all;
};

/// Keeps the compiler from removing computations.
volatile double sink = 0;

using X = DistributedArray<double>;
using Z = DistributedArray<C>;

void add_arrays(Cases& cases) {
  cases.add_array<double>("fill", line, [](X& x, X&) { x.fill(1.0); });
  cases.add_array<double>("fill_random", line, [](X& x, X&) { fill_random(x, 3); });
  cases.add_array<double>("fill_random", plane, [](X& x, X&) { fill_random(x, 3); });
  cases.add_array<double>("copy", line, [](X& x, X& y) { copy(x, y); });
  cases.add_array<double>("axpy", line, [](X& x, X& y) { axpy(1e-9, x, y); });
  cases.add_array<double>("multiply", line, [](X& x, X& y) { multiply(x, y); });
  cases.add_array<C>("conjugate", line, [](Z& x, Z& y) { conjugate(x, y); });
  cases.add_array<C>("abs", line, [](Z& x, Z&) { abs(x); });
  cases.add_array<double>("astype", line, [](X& x, X&) { astype<float>(x); });
  cases.add_array<double>("dot", line, [](X& x, X& y) { sink = dot(x, y); });
  cases.add_array<double>("axpy_dot", line, [](X& x, X& y) { sink = axpy_dot(1e-9, x, y, y); });
  cases.add_array<double>("sum", line, [](X& x, X&) { sink = sum(x); });
  cases.add_array<double>("max", line, [](X& x, X&) { sink = max(x); });
  cases.add_array<double>("norm", line, [](X& x, X&) { sink = norm(x); });
  cases.add_array<double>("norm of order 3", line, [](X& x, X&) { sink = norm(x, 3); });
  for (const Shape& shape : {line, plane, few, Shape{many / 4, 4}}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      cases.add_array<double>(fmt::format("norm_along {}", axis), shape,
                              [=](X& x, X&) { norm_along(x, axis); });
    }
  }
  cases.add_array<double>("to_host, from_host", line, [](X& x, X& y) {
    static thread_local std::vector<double> host;
    host.resize(static_cast<std::size_t>(x.local_count()));
    copy_bytes(host.data(), Device::cpu(), x.data(), x.device(), host.size() * sizeof(double));
    y.from_host(host);
  });
  cases.all.push_back({"halo exchange, (2048, 2048), 64 wide", [](const Comm& comm) -> Work {
                         const Layout layout = Layout::scatter(comm, plane);
                         auto x = std::make_shared<X>(numbers<double>(layout));
                         auto halo = std::make_shared<HaloExchange<double>>(
                             layout, std::vector<AxisPadding>{{64, 64}, {64, 64}},
                             HaloOptions{.boundary = Boundary::periodic});
                         return [=] { halo->run(*x); };
                       }});
  cases.all.push_back({"read_npy of float, (4194304,)", [](const Comm& comm) -> Work {
                         const Layout layout = Layout::scatter(comm, line);
                         const std::string path =
                             fmt::format("/tmp/threads_bench.{}.npy", getpid());
                         write_npy(path, numbers<float>(layout));
                         return [=, keep = std::shared_ptr<void>(nullptr, [=](void*) {
                                      std::remove(path.c_str());
                                    })] { read_npy<double>(path, layout); };
                       }});
}

void add_pointwise(Cases& cases) {
  for (const Shape& shape : {line, plane}) {
    cases.add_on<double>("identity", shape, [](const Layout& l) { return identity<double>(l); });
    cases.add_on<double>("diagonal(d)", shape,
                         [](const Layout& l) { return diagonal<double>(numbers<double>(l)); });
    cases.add_on<double>("diagonal along the last axis", shape, [](const Layout& l) {
      return diagonal<double>(
          l, std::vector<double>(static_cast<std::size_t>(l.shape()[l.ndim() - 1]), 2.0));
    });
    cases.add_on<double>("restriction", shape, [](const Layout& l) {
      std::vector<index_t> indices;
      for (index_t i = 0; i < l.shape()[l.ndim() - 1]; i += 2) indices.push_back(i);
      return restriction<double>(l, indices);
    });
    cases.add_on<double>("restriction with repeats", shape, [](const Layout& l) {
      std::vector<index_t> indices;
      for (index_t i = 0; i < l.shape()[l.ndim() - 1]; i += 2) indices.insert(indices.end(), 2, i);
      return restriction<double>(l, indices);
    });
    cases.add_on<double>("pad", shape, [](const Layout& l) {
      return pad<double>(l, std::vector<AxisPadding>(static_cast<std::size_t>(l.ndim()), {7, 9}));
    });
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      cases.add_on<double>(fmt::format("sum_along {}", axis), shape,
                           [=](const Layout& l) { return sum_along<double>(l, {.axis = axis}); });
    }
    cases.add_on<double>("halo", shape, [](const Layout& l) {
      return halo<double>(l, std::vector<AxisPadding>(static_cast<std::size_t>(l.ndim()), {3, 3}));
    });
    cases.add_on<C, double>("real_part", shape, [](const Layout& l) { return real_part<C>(l); });
    cases.add_on<C>("conjugation", shape, [](const Layout& l) { return conjugation<C>(l); });
  }
  for (const int axis : {0, 1}) {
    cases.add_on<double>(fmt::format("sum_along {}", axis), few,
                         [=](const Layout& l) { return sum_along<double>(l, {.axis = axis}); });
    cases.add_on<double>(fmt::format("sum_along {}", axis), {many / 4, 4},
                         [=](const Layout& l) { return sum_along<double>(l, {.axis = axis}); });
  }
  cases.add_on<double>("transpose_axes", plane, [](const Layout& l) {
    return transpose_axes<double>(l, {1, 0});
  });
  cases.add_on<double>("transpose_axes", volume, [](const Layout& l) {
    return transpose_axes<double>(l, {2, 0, 1});
  });
  cases.add_on<double>("redistribute", plane, [](const Layout& l) {
    return redistribute<double>(l, Layout::scatter(l.comm(), l.shape(), 1));
  });
}

void add_neighbours(Cases& cases) {
  for (const Shape& shape : {line, plane, volume}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      cases.add_on<double>(fmt::format("first_derivative {}", axis), shape, [=](const Layout& l) {
        return first_derivative<double>(l, {.axis = axis});
      });
    }
    cases.add_on<double>("second_derivative", shape,
                         [](const Layout& l) { return second_derivative<double>(l, {.axis = 0}); });
    cases.add_on<double>("gradient", shape, [](const Layout& l) { return gradient<double>(l); });
  }
  cases.add_on<double>("laplacian", plane, [](const Layout& l) {
    return laplacian<double>(l, {.axes = {0, 1}});
  });
  cases.add_on<double>("laplacian", volume, [](const Layout& l) {
    return laplacian<double>(l, {.axes = {0, 1, 2}});
  });
  const std::vector<double> filter(15, 0.5);
  for (const Shape& shape : {line, plane}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      cases.add_on<double>(fmt::format("convolve1d {}", axis), shape, [=](const Layout& l) {
        return convolve1d<double>(l, filter, {.offset = 7, .axis = axis});
      });
      cases.add_on<
          double>(fmt::format("non_stationary_convolve1d {}", axis), shape, [=](const Layout& l) {
        return non_stationary_convolve1d<double>(l, {filter, filter}, {100, 1000}, {.axis = axis});
      });
    }
  }
  cases.add_on<double>("non_stationary_convolve2d", plane, [](const Layout& l) {
    return non_stationary_convolve2d<double>(
        l, {{5, 5}, {{0, 1000}, {0, 1000}}, std::vector<double>(100, 0.5)});
  });
}

void add_transforms(Cases& cases) {
#if defined(WEFT_WITH_FFTW)
  for (const Shape& shape : {plane, Shape{1500, 1111}}) {
    for (int axis = 0; axis < shape.ndim(); ++axis) {
      cases.add_on<double, C>(fmt::format("fft {}", axis), shape,
                              [=](const Layout& l) { return fft<double>(l, {.axis = axis}); });
    }
    cases.add_on<C, C>("fft with shifts", shape, [](const Layout& l) {
      return fft<C>(l, {.ifftshift_before = true, .fftshift_after = true});
    });
    cases.add_on<C, C>("fftnd", shape, [](const Layout& l) { return fftnd<C>(l); });
  }
  cases.add_on<double>("convolve1d by fft", plane, [](const Layout& l) {
    return convolve1d<double>(l, std::vector<double>(500, 0.5),
                              {.axis = 1, .method = ConvolutionMethod::fft});
  });
  for (const index_t taps : {7, 15, 31}) {
    const std::vector<double> filter(static_cast<std::size_t>(taps * taps), 0.5);
    for (const bool by_fft : {false, true}) {
      const auto method = by_fft ? ConvolutionMethod::fft : ConvolutionMethod::direct;
      cases.add_on<double>(
          fmt::format("convolve_nd by {} of {} x {} taps", by_fft ? "fft" : "sums", taps, taps),
          plane, [=](const Layout& l) {
            return convolve_nd<double>(l, {taps, taps}, filter,
                                       {.offset = {taps / 2, taps / 2}, .method = method});
          });
    }
  }
  cases.add<double>("mdc, 65 frequencies of (64, 64)", [](const Comm& comm) {
    return mdc<double>(numbers<C>(Layout::scatter(comm, {65, 64, 64})), {.nt = 129, .nv = 16});
  });
#else
  static_cast<void>(cases);
#endif
}

void add_matrices(Cases& cases) {
  cases.add<double>("matrix_mult, (2048, 2048) by 1 column", [](const Comm& comm) {
    return matrix_mult<double>(numbers<double>(Layout::scatter(comm, plane)));
  });
  cases.add<double>("matrix_mult, (1024, 1024) by 64 columns", [](const Comm& comm) {
    return matrix_mult<double>(numbers<double>(Layout::scatter(comm, {1024, 1024})),
                               {.other = Shape{64}});
  });
  cases.add<double>("summa, (1024, 1024) by 64 columns", [](const Comm& comm) {
    return summa<double>(numbers<double>(Layout::bricks(comm, {1024, 1024})), {.columns = 64});
  });
  cases.add<double>("fredholm1, 64 of (128, 128) by 8", [](const Comm& comm) {
    return fredholm1<double>(numbers<double>(Layout::scatter(comm, {64, 128, 128})), {.nz = 8});
  });
  const auto scaling = [](const Layout& l) { return diagonal<double>(numbers<double>(l)); };
  cases.add_on<double>("2 A - A^H A", plane, [=](const Layout& l) {
    const auto a = scaling(l);
    return 2 * a - adjoint(a) * a;
  });
  cases.add_on<double>("vstack", plane, [=](const Layout& l) {
    return vstack({scaling(l), identity<double>(l)});
  });
}

/// Appends the times of one candidate.
void measure(const Case& each, int ranks, int threads, int rounds, std::vector<double>& times) {
  run_threads(ranks, [&](Comm comm) {
    bench::use_threads(threads);
    const Work work = each.prepare(comm);
    const auto once = [&] {
      work();
      comm.barrier();
    };
    once();
    const double estimate = comm.allreduce(bench::seconds(once), ReduceOp::max);
    const int repeats = std::clamp(static_cast<int>(4e-3 / estimate), 1, 20);
    for (int round = 0; round < rounds; ++round) {
      comm.barrier();
      const double time = bench::seconds(once, repeats);
      if (comm.rank() == 0) times.push_back(time);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  bench::Report report(argc, argv, "One rank of two threads");
  Cases cases;
  add_arrays(cases);
  add_pointwise(cases);
  add_neighbours(cases);
  add_transforms(cases);
  add_matrices(cases);
  for (const Case& each : cases.all) {
    if (!options.has(each.name)) continue;
    bench::PairedTimes pair;
    for (int turn = 0; turn < (options.quick ? 1 : 3); ++turn) {
      measure(each, 1, 2, 3, pair.ours);
      measure(each, 2, 1, 3, pair.baseline);
    }
    report.add(each.name + ": 1 rank of 2 threads", "2 ranks of 1 thread", pair, 1.25);
  }
  return EXIT_SUCCESS;
}
