// Arithmetic, dot products and norms of arrays.

#include "inputs.hpp"
#include "measure.hpp"

using namespace weft;
using nlohmann::json;

namespace compare {
namespace {

struct Vectors {
  DistributedArray<double> x;
  DistributedArray<double> y;

  Vectors(const Session& session, const json& options)
      : x(Layout::scatter(session.comm(), shape_of(options))), y(x.layout()) {
    fill_noise(x, 1);
    fill_noise(y, 2);
  }
};

Outcome run_axpy(Session& session, const json& options) {
  Vectors v(session, options);
  const double floor = copy_floor<double>(session, v.x.layout(), 3);
  axpy(0.5, v.x, v.y);
  session.answer(v.y);
  return {session.time([&] { axpy(1e-3, v.x, v.y); }), floor, "copy of 3 arrays"};
}

Outcome run_dot(Session& session, const json& options) {
  const Vectors v(session, options);
  double value = 0;
  const Timing timing = session.time([&] { value = dot(v.x, v.y); });
  session.answer(value);
  return {timing, copy_floor<double>(session, v.x.layout(), 2), "copy of 2 arrays"};
}

Outcome run_norm(Session& session, const json& options) {
  const Vectors v(session, options);
  double value = 0;
  const Timing timing = session.time([&] { value = norm(v.x); });
  session.answer(value);
  return {timing, copy_floor<double>(session, v.x.layout(), 1), "copy of 1 array"};
}

}  // namespace

std::vector<Named> array_problems() {
  return {{"axpy", run_axpy}, {"dot", run_dot}, {"norm", run_norm}};
}

}  // namespace compare
