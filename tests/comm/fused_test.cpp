// Allreduces with an epilogue. Inputs are small integers, whose sums are exact in every order; what
// follows the sum is computed here step by step.

#include "comm/support/conformance.hpp"
#include "support/disagreement.hpp"

#include <weft/comm/fused.hpp>
#include <weft/core/error.hpp>
#include <weft/core/stream.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft::test {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
Buffer<T> buffer_on(Device device, const std::vector<T>& values) {
  Buffer<T> buffer(static_cast<index_t>(values.size()), device);
  copy_bytes(buffer.data(), device, values.data(), Device::cpu(), values.size() * sizeof(T));
  return buffer;
}

template <class T>
std::vector<T> host_values(const Buffer<T>& buffer) {
  std::vector<T> values(static_cast<std::size_t>(buffer.size()));
  copy_bytes(values.data(), Device::cpu(), buffer.data(), buffer.device(),
             values.size() * sizeof(T));
  Stream::current(buffer.device()).synchronize();
  return values;
}

template <class T>
bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size() * sizeof(T));
}

template <class T>
std::vector<T> inputs_of(int rank, index_t count) {
  std::vector<T> values;
  for (index_t i = 0; i < count; ++i) values.push_back(element<T>(value(dtype_of<T>, rank, i)));
  return values;
}

template <class T>
std::vector<T> sums(int ranks, index_t count) {
  std::vector<T> values;
  for (index_t i = 0; i < count; ++i) {
    Number total;
    for (int rank = 0; rank < ranks; ++rank) {
      total = combine(ReduceOp::sum, total, value(dtype_of<T>, rank, i));
    }
    values.push_back(element<T>(total));
  }
  return values;
}

template <class T>
T scaled(T x, double scale) {
  if constexpr (requires { typename T::value_type; }) {
    const auto factor = static_cast<typename T::value_type>(scale);
    return {x.real() * factor, x.imag() * factor};
  } else {
    return static_cast<T>(static_cast<Wide<T>>(x) * static_cast<Wide<T>>(scale));
  }
}

template <class T>
void expect_scaled_sums(const Comm& comm, Device device) {
  for (const index_t count : {0, 1, 3, 62, 500, 40'000}) {
    for (const double scale : {1.0, 0.5, 1.0 / 3, -7.3}) {
      std::vector<T> expected = sums<T>(comm.size(), count);
      for (T& x : expected) x = scaled(x, scale);
      const Buffer<T> in = buffer_on(device, inputs_of<T>(comm.rank(), count));
      Buffer<T> out(count, device);
      allreduce_scaled(comm, in, out, scale);
      EXPECT_TRUE(equal_bits(host_values(out), expected)) << to_string(dtype_of<T>) << " " << count;
      EXPECT_TRUE(equal_bits(host_values(in), inputs_of<T>(comm.rank(), count)));
      Buffer<T> data = buffer_on(device, inputs_of<T>(comm.rank(), count));
      allreduce_scaled(comm, data, data, scale);
      EXPECT_TRUE(equal_bits(host_values(data), expected)) << "in place";
    }
  }
}

/// The largest relative error of a number that is computed in Wide<T> and rounded to T.
template <class T>
double tolerance() {
  if constexpr (std::is_same_v<T, Half>) return 0x1p-10;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x1p-7;
  if constexpr (std::is_same_v<T, float>) return 4e-6;
  return 1e-14;
}

template <class T>
double number(T x) {
  return static_cast<double>(static_cast<Wide<T>>(x));
}

/// Numbers that are not integers, the same on all ranks.
template <class T>
std::vector<T> fractions(index_t count, double shift) {
  std::vector<T> values;
  for (index_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(mixed(17, i) % 2001) / 1000 - 1;
    values.push_back(static_cast<T>(static_cast<Wide<T>>(x + shift)));
  }
  return values;
}

template <class T>
void expect_norms(const Comm& comm, Device device, index_t rows, index_t width, double epsilon) {
  SCOPED_TRACE(std::string(to_string(dtype_of<T>)) + ", " + std::to_string(rows) + " rows of " +
               std::to_string(width));
  const index_t count = rows * width;
  const auto weights = fractions<T>(width, 1.5);
  std::vector<T> totals = sums<T>(comm.size(), count);
  const auto residuals = fractions<T>(count, 0);
  for (std::size_t i = 0; i < totals.size(); ++i) {
    totals[i] =
        static_cast<T>(static_cast<Wide<T>>(totals[i]) + static_cast<Wide<T>>(residuals[i]));
  }

  const Buffer<T> weight = buffer_on(device, weights);
  const Buffer<T> in = buffer_on(device, inputs_of<T>(comm.rank(), count));
  Buffer<T> residual = buffer_on(device, residuals);
  Buffer<T> out(count, device);
  const RmsNorm norm = {.weight = weight, .epsilon = epsilon};
  allreduce_rms_norm(comm, in, residual, out, norm);
  EXPECT_TRUE(equal_bits(host_values(residual), totals));
  EXPECT_TRUE(equal_bits(host_values(in), inputs_of<T>(comm.rank(), count)));

  const std::vector<T> seen = host_values(out);
  const auto length = static_cast<std::size_t>(width);
  for (std::size_t first = 0; first < totals.size(); first += length) {
    double squares = 0;
    for (std::size_t i = 0; i < length; ++i) {
      squares += number(totals[first + i]) * number(totals[first + i]);
    }
    const double root = std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < length; ++i) {
      const double expected = number(totals[first + i]) / root * number(weights[i]);
      // The second term is the spacing of the smallest 16-bit floats.
      const double most = tolerance<T>() * std::abs(expected) + (sizeof(T) == 2 ? 1e-7 : 0);
      ASSERT_NEAR(number(seen[first + i]), expected, most) << first + i;
    }
  }

  Buffer<T> data = buffer_on(device, inputs_of<T>(comm.rank(), count));
  Buffer<T> again = buffer_on(device, residuals);
  allreduce_rms_norm(comm, data, again, data, norm);
  EXPECT_TRUE(equal_bits(host_values(again), totals)) << "in place";
  EXPECT_TRUE(equal_bits(host_values(data), seen)) << "in place";
}

template <class T>
void expect_norms(const Comm& comm, Device device) {
  for (const index_t width : {1, 3, 8, 61, 1000}) {
    for (const index_t rows : {0, 1, 5}) expect_norms<T>(comm, device, rows, width, 1e-6);
  }
  expect_norms<T>(comm, device, 3, 64, 10.0);
  expect_norms<T>(comm, device, 40, 1024, 1e-6);  // enough for several threads
}

}  // namespace

TEST(Fused, scales_sums) {
  on_ranks([](const Comm& comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      expect_scaled_sums<Half>(comm, device);
      expect_scaled_sums<BFloat16>(comm, device);
      expect_scaled_sums<float>(comm, device);
      expect_scaled_sums<double>(comm, device);
      expect_scaled_sums<std::complex<float>>(comm, device);
      expect_scaled_sums<std::complex<double>>(comm, device);
    }
  });
}

// 2049 is not a 16-bit float: it becomes 2048 if it is rounded before it is scaled.
TEST(Fused, rounds_sums_before_they_are_scaled) {
  on_ranks([](const Comm& comm) {
    if (comm.size() == 1) return;
    const float mine[] = {2048, 1};
    std::vector<Half> data(1, Half(comm.rank() < 2 ? mine[comm.rank()] : 0.0F));
    allreduce_scaled(comm, data, data, 513.0 / 1024);
    EXPECT_EQ(static_cast<float>(data[0]), 1026.0F);
  });
}

TEST(Fused, normalises_rows) {
  on_ranks([](const Comm& comm) {
    for (const Device device : {Device::cpu(), other_device()}) {
      expect_norms<Half>(comm, device);
      expect_norms<BFloat16>(comm, device);
      expect_norms<float>(comm, device);
      expect_norms<double>(comm, device);
    }
  });
}

TEST(Fused, the_norm_of_zeros_is_zero) {
  on_ranks([](const Comm& comm) {
    const std::vector<float> weight(5, 2);
    std::vector<float> data(10);
    std::vector<float> residual(10);
    allreduce_rms_norm(comm, data, residual, data, {.weight = weight});
    EXPECT_EQ(data, std::vector<float>(10));
    EXPECT_EQ(residual, std::vector<float>(10));
  });
}

TEST(Fused, counts_as_one_allreduce) {
  on_ranks([](const Comm& comm) {
    const std::vector<double> weight(4, 1);
    std::vector<double> data(8, 1);
    std::vector<double> residual(8, 1);
    comm.reset_stats();
    allreduce_scaled(comm, data, data, 2);
    allreduce_rms_norm(comm, data, residual, data, {.weight = weight});
    EXPECT_EQ(comm.stats()[CallKind::allreduce].calls, 2);
    EXPECT_EQ(comm.stats()[CallKind::allreduce].bytes, comm.size() > 1 ? 128 : 0);
  });
}

TEST(FusedArguments, of_scaled_sums_are_checked) {
  on_ranks([](const Comm& comm) {
    std::vector<double> doubles(6);
    std::vector<double> more(7);
    std::vector<float> floats(6);
    std::vector<int> integers(6);
    auto device = on_debug(doubles);
    EXPECT_THROW(allreduce_scaled(comm, integers, integers, 2), ArgumentError);
    EXPECT_THROW(allreduce_scaled(comm, doubles, floats, 2), ArgumentError);
    EXPECT_THROW(allreduce_scaled(comm, doubles, more, 2), ArgumentError);
    EXPECT_THROW(allreduce_scaled(comm, doubles, device, 2), ArgumentError);
    EXPECT_THROW(allreduce_scaled(comm, BufferRef(doubles.data(), -1), doubles, 2), ArgumentError);
    const std::span<double> all(doubles);
    EXPECT_THROW(allreduce_scaled(comm, all.first(5), all.last(5), 2), ArgumentError);
    EXPECT_THROW(allreduce_scaled(Comm(comm).split(-1), doubles, doubles, 2), Error);
    expect_works(comm);
  });
}

TEST(FusedArguments, of_norms_are_checked) {
  on_ranks([](const Comm& comm) {
    std::vector<float> in(12);
    std::vector<float> residual(12);
    std::vector<float> out(12);
    std::vector<float> weight(4);
    const auto norm = [&](ConstBufferRef a, BufferRef b, BufferRef c, ConstBufferRef w,
                          double epsilon = 1e-6) {
      allreduce_rms_norm(comm, a, b, c, {.weight = w, .epsilon = epsilon});
    };
    norm(in, residual, out, weight);

    std::vector<double> doubles(12);
    std::vector<std::complex<float>> complex(12);
    std::vector<std::complex<float>> more_complex(12);
    std::vector<float> longer(16);
    auto device = on_debug(out);
    EXPECT_THROW(norm(complex, more_complex, complex, complex), ArgumentError);
    EXPECT_THROW(norm(doubles, residual, out, weight), ArgumentError);
    EXPECT_THROW(norm(in, doubles, out, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, doubles, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, doubles), ArgumentError);
    EXPECT_THROW(norm(in, device, out, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, device, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, device), ArgumentError);
    EXPECT_THROW(norm(longer, residual, out, weight), ArgumentError);
    EXPECT_THROW(norm(in, longer, out, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, longer, weight), ArgumentError);
    // Rows
    EXPECT_THROW(norm(in, residual, out, std::span(weight).first(0)), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, std::span(longer).first(5)), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, longer), ArgumentError);
    // Overlaps
    EXPECT_THROW(norm(in, in, out, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, residual, weight), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, std::span(residual).first(4)), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, std::span(out).last(4)), ArgumentError);
    const std::span<float> all(longer);
    EXPECT_THROW(norm(all.first(12), residual, all.last(12), weight), ArgumentError);
    // Epsilon
    EXPECT_THROW(norm(in, residual, out, weight, -1), ArgumentError);
    EXPECT_THROW(norm(in, residual, out, weight, std::numeric_limits<double>::quiet_NaN()),
                 ArgumentError);
    expect_works(comm);
  });
}

TEST(FusedArguments, are_compared_between_ranks) {
  on_ranks([](const Comm& comm) {
    if (comm.size() == 1) return;
    comm.check_calls(true);
    const bool last = comm.rank() + 1 == comm.size();
    std::vector<float> data(8, 1);
    std::vector<float> residual(8, 1);
    const std::vector<float> weight(8, 1);
    expect_disagreement(comm, {"allreduce_scaled", "parameters"},
                        [&] { allreduce_scaled(comm, data, data, last ? 2 : 1); });
    expect_disagreement(comm, {"allreduce_rms_norm", "parameters"}, [&] {
      const ConstBufferRef row(weight.data(), last ? 4 : 8);
      allreduce_rms_norm(comm, data, residual, data, {.weight = row});
    });
    expect_disagreement(comm, {"allreduce_rms_norm", "allreduce_scaled"}, [&] {
      if (last) {
        allreduce_scaled(comm, data, data, 2);
      } else {
        allreduce_rms_norm(comm, data, residual, data, {.weight = weight});
      }
    });
  });
}

}  // namespace weft::test
