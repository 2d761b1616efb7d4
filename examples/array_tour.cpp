// Distributes an array over the ranks, exchanges halos, redistributes and reduces it, and prints
// the number of messages of each step.

#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

using namespace weft;

namespace {

/// "rows 0-5, columns 0-20" for a rank's box.
std::string extent_of(const Box& box) {
  if (box.shape.count() == 0) return "nothing";
  return fmt::format("rows {}-{}, columns {}-{}", box.offset[0], box.end(0) - 1, box.offset[1],
                     box.end(1) - 1);
}

void print_owners(const Comm& world, const Layout& rows, const Layout& columns) {
  print(world, "\n{:>6}  {:<30}{:>10}   {}\n", "rank", "owned at first", "elements",
        "owned after redistribution");
  for (int rank = 0; rank < world.size(); ++rank) {
    print(world, "{:>6}  {:<30}{:>10}   {}\n", rank, extent_of(rows.box(rank)),
          rows.local_count(rank), extent_of(columns.box(rank)));
  }
}

/// Runs one step and prints its messages, summed over the ranks.
template <class Step>
void show(const Comm& world, const char* name, Step step) {
  world.reset_stats();
  step();
  const Stats stats = world.stats();
  const CallStats mine = stats.total();
  std::vector<index_t> totals = {mine.messages, mine.bytes};
  world.allreduce(totals);
  const index_t largest = world.allreduce(mine.largest, ReduceOp::max);
  print(world, "{:<34}{:>10}{:>12}{:>14}\n", name, totals[0], totals[1], largest);
}

int tour(const Comm& world) {
  const Shape shape = {1000, 600};
  const Layout rows = Layout::scatter(world, shape, 0);
  const Layout columns = Layout::scatter(world, shape, 1);
  print(world, "An array of {} doubles on {} ranks ({}), {}\n", to_string(shape), world.size(),
        world.transport(), to_string(world.device()));
  print_owners(world, rows, columns);

  const auto wave = [](const Index& at) {
    return std::sin(0.01 * static_cast<double>(at[0])) *
           std::cos(0.02 * static_cast<double>(at[1]));
  };
  std::vector<double> values;
  if (world.rank() == 0) {
    for (Index at = {0, 0}; static_cast<index_t>(values.size()) < shape.count();
         advance(shape, at)) {
      values.push_back(wave(at));
    }
  }
  print(world, "\n{:<34}{:>10}{:>12}{:>14}\n", "step", "messages", "bytes", "largest");

  DistributedArray<double> x(rows);
  DistributedArray<double> y(columns);
  HaloExchange<double> halo(rows, {{1, 1}, {0, 0}});
  double norm_of_rows = 0;
  double norm_of_columns = 0;
  show(world, "scatter from rank 0",
       [&] { x = DistributedArray<double>::from_root(rows, values, 0); });
  show(world, "exchange halos of one row", [&] { halo.run(x); });
  show(world, "redistribute: rows to columns", [&] { y = x.redistribute(columns); });
  show(world, "x = 0.5 (x + x)", [&] { x = 0.5 * (x + x); });
  show(world, "norm by rows, norm by columns", [&] {
    norm_of_rows = norm(x);
    norm_of_columns = norm(y);
  });
  print(world, "\nnorm by rows {:.12f}, by columns {:.12f}\n", norm_of_rows, norm_of_columns);

  // Checks that values are where the layout says and halos equal the rows of the neighbours.
  double error = std::abs(norm_of_rows - norm_of_columns) / norm_of_rows;
  DistributedArray<double> expected(columns);
  expected.fill(wave);
  error = std::max(error, norm(y - expected, INFINITY));
  const PaddedPart<double> padded = halo.padded(x);
  std::vector<double> part(static_cast<std::size_t>(padded.data.size()));
  copy_bytes(part.data(), Device::cpu(), padded.data.data(), world.device(),
             part.size() * sizeof(double));
  for (index_t i = 0; i < padded.data.size(); ++i) {
    const Index at = {padded.box.offset[0] + i / shape[1], i % shape[1]};
    const bool inside = at[0] >= 0 && at[0] < shape[0];
    error =
        std::max(error, std::abs(part[static_cast<std::size_t>(i)] - (inside ? wave(at) : 0.0)));
  }
  error = world.allreduce(error, ReduceOp::max);
  print(world, "\nlargest error {:.1e}: {}\n", error,
        error < 1e-12 ? "all values are correct" : "WRONG");
  return error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) { return launch(argc, argv, tour); }
