#include "solve/checkpoint.hpp"

#include <weft/core/error.hpp>

#include "io/box_file.hpp"
#include "io/shared_file.hpp"
#include "solve/solver_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

bool is_single(DType dtype) { return dtype == DType::f32 || dtype == DType::c64; }

double epsilon_of(DType dtype) {
  return is_single(dtype) ? double{std::numeric_limits<float>::epsilon()}
                          : std::numeric_limits<double>::epsilon();
}

/// Relative tolerance for data, which may have been computed on other ranks, with other rounding
/// errors.
double data_tolerance(double epsilon) { return 1e3 * epsilon; }
/// Relative tolerance for results of operators, which can amplify rounding errors.
double operator_tolerance(double epsilon) { return std::sqrt(epsilon); }

index_t word_size_of(DType dtype) { return is_single(dtype) ? 4 : 8; }

void add_properties(std::vector<Property>& properties, const std::string& suffix, const Comm& comm,
                    const std::vector<StateArray>& arrays,
                    double (*relative_tolerance)(double epsilon)) {
  const std::vector<ArrayFingerprint> fingerprints = fingerprints_of(comm, arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto& [norm, sum] = fingerprints[i];
    const double tolerance = relative_tolerance(epsilon_of(arrays[i].dtype)) * norm;
    properties.push_back({fmt::format("|{}|{}", arrays[i].name, suffix), norm, tolerance});
    properties.push_back(
        {fmt::format("a checksum of {}{}", arrays[i].name, suffix), sum, tolerance});
  }
}

/// The checksum of this rank's part of an array that starts at this offset.
std::uint64_t part_checksum(const StateArray& array, const std::byte* data, index_t offset) {
  const index_t element = size_of(array.dtype);
  std::uint64_t sum = 0;
  for_each_run(array.layout.shape(), array.layout.box(),
               [&](index_t place, index_t first, index_t count) {
                 sum += checksum_of(data + first * element, count * element,
                                    word_size_of(array.dtype), offset + place * element);
               });
  return sum;
}

std::vector<double> as_numbers(const std::vector<SolverStatus>& history) {
  std::vector<double> numbers;
  numbers.reserve(history.size() * std::size_t{numbers_per_status});
  for (const SolverStatus& status : history) {
    numbers.push_back(static_cast<double>(status.iteration));
    numbers.push_back(status.residual_norm);
    numbers.push_back(status.gradient_norm);
    numbers.push_back(status.seconds);
  }
  return numbers;
}

/// Appends entries to the history; false if their iterations are not in order.
bool append(std::vector<SolverStatus>& history, std::span<const double> numbers) {
  constexpr double largest = 0x1p53;
  for (std::size_t i = 0; i < numbers.size(); i += std::size_t{numbers_per_status}) {
    const double iteration = numbers[i];
    const double least = history.empty() ? 0 : static_cast<double>(history.back().iteration + 1);
    if (!(iteration >= least && iteration <= largest) || iteration != std::floor(iteration))
      return false;
    history.push_back({.iteration = static_cast<index_t>(iteration),
                       .residual_norm = numbers[i + 1],
                       .gradient_norm = numbers[i + 2],
                       .seconds = numbers[i + 3]});
  }
  return true;
}

/// The part of a file after its header. Adds everything read or written to a checksum; the sum over
/// all ranks is the checksum of the file.
class Body {
 public:
  Body(const File& file, index_t offset) : file_(file), offset_(offset) {}

  void write(const void* data, index_t bytes, index_t place) {
    file_.write(data, bytes, offset_ + place);
    sum_ += checksum_of(data, bytes, 8, place);
  }
  void write(const StateArray& array, index_t place) {
    if (!array.counts_here()) return;
    const Layout& layout = array.layout;
    const index_t element = size_of(array.dtype);
    const HostCopy host(array.data, layout.device(), layout.local_count() * element);
    write_box(file_, layout.shape(), layout.box(), offset_ + place, host.data(), element);
    sum_ += part_checksum(array, host.data(), place);
  }

  /// Does not add to the checksum.
  void read(void* data, index_t bytes, index_t place) const {
    file_.read(data, bytes, offset_ + place);
  }
  /// Calls use(words) for one chunk of a region after the other.
  template <class Use>
  void read_words(index_t bytes, index_t place, bool counts, Use use) {
    constexpr index_t chunk_bytes = index_t{1} << 20;
    std::vector<double> words;
    for (index_t done = 0; done < bytes; done += chunk_bytes) {
      const index_t part = std::min(bytes - done, chunk_bytes);
      words.resize(static_cast<std::size_t>(part) / sizeof(double));
      file_.read(words.data(), part, offset_ + place + done);
      if (counts) sum_ += checksum_of(words.data(), part, 8, place + done);
      use(std::span<const double>(words));
    }
  }
  void read(const StateArray& array, index_t place) {
    const Layout& layout = array.layout;
    const index_t element = size_of(array.dtype);
    std::vector<std::byte> values(static_cast<std::size_t>(layout.local_count() * element));
    read_box(file_, layout.shape(), layout.box(), offset_ + place, values.data(), element);
    if (array.counts_here()) sum_ += part_checksum(array, values.data(), place);
    if (!values.empty())
      copy_bytes(array.writable, layout.device(), values.data(), Device::cpu(), values.size());
  }

  std::uint64_t sum() const { return sum_; }

 private:
  const File& file_;
  index_t offset_;
  std::uint64_t sum_ = 0;
};

}  // namespace

Checkpoint::Checkpoint(std::string solver, Comm comm, CheckpointOptions options, bool has_groups)
    : solver_(std::move(solver)),
      comm_(std::move(comm)),
      options_(std::move(options)),
      last_time_(Clock::now()) {
  require(!options_.path.empty(), "{}: checkpoint.path is empty; name a file", solver_);
  require(options_.every_iterations >= 0,
          "{}: checkpoint.every_iterations = {}; use 0 to ignore iterations, or a positive number",
          solver_, options_.every_iterations);
  require(std::isfinite(options_.every_seconds) && options_.every_seconds >= 0,
          "{}: checkpoint.every_seconds = {}; use 0 to ignore time, or a positive number", solver_,
          options_.every_seconds);
  require(!has_groups,
          "{}: checkpoints do not support layouts within groups of ranks; use layouts of all "
          "ranks, or give each group its own communicator and path",
          solver_);
}

void Checkpoint::depends_on(std::string_view name, double value) {
  properties_.push_back({std::string(name), value, 0});
}

template <Scalar T>
void Checkpoint::depends_on(std::string_view name, const ConstArrayView<T>& array,
                            bool is_computed) {
  std::vector<StateArray> leaves;
  add_leaves(leaves, std::string(name), array);
  add_properties(properties_, "", comm_, leaves, is_computed ? operator_tolerance : data_tolerance);
}

std::optional<Checkpoint::Resumed> Checkpoint::begin(AnySolver& solver) {
  add_properties(properties_, " at the start", comm_, SolverState(solver).arrays,
                 operator_tolerance);
  const std::size_t text_bytes = describe(solver).text().size();
  require(text_bytes <= std::size_t{max_checkpoint_text},
          "{}: a checkpoint cannot hold {} arrays; use fewer and larger parts in stacks", solver_,
          SolverState(solver).arrays.size());
  if (!lock()) return std::nullopt;
  Resumed resumed = restore(solver);
  last_iteration_ = solver.iteration();
  last_time_ = Clock::now();
  return resumed;
}

void Checkpoint::after_check(AnySolver& solver) {
  const StopReason reason = solver.stop_reason();
  const bool is_good = reason != StopReason::breakdown && reason != StopReason::not_finite;
  const bool is_new = solver.iteration() != last_iteration_;
  const bool stops = reason != StopReason::running;
  if (is_good && is_new && (stops || is_due(solver.iteration()))) save(solver);
  if (stops) release();
}

void Checkpoint::release() { lock_.reset(); }

bool Checkpoint::is_due(index_t iteration) const {
  if (options_.every_iterations > 0 && iteration - last_iteration_ >= options_.every_iterations)
    return true;
  if (options_.every_seconds == 0) return false;
  const double seconds = std::chrono::duration<double>(Clock::now() - last_time_).count();
  std::int32_t due = seconds >= options_.every_seconds ? 1 : 0;
  comm_.broadcast(BufferRef(&due, 1), 0);
  return due != 0;
}

bool Checkpoint::lock() {
  std::string path;  // empty if there is nothing to resume from
  together(comm_, [&] {
    if (comm_.rank() != 0) return;
    lock_.emplace(options_.path);
    // With the lock held, no other job creates or replaces the file.
    if (options_.resume && resolve_path(lock_->target()).exists) path = lock_->target();
  });
  path_ = text_of_rank_0(comm_, path);
  return !path_.empty();
}

CheckpointHeader Checkpoint::describe(AnySolver& solver) const {
  const SolverState state(solver);
  CheckpointHeader header;
  header.solver = solver_;
  header.ranks = comm_.size();
  header.partition = partition_hash(state.arrays);
  header.history_length = static_cast<index_t>(solver.history().size());
  for (const StateInteger& integer : state.integers)
    header.integers.push_back({integer.name, *integer.value});
  for (const StateArray& array : state.arrays) {
    header.arrays.push_back({array.name, std::string(to_string(array.dtype)), array.layout.shape(),
                             size_of(array.dtype)});
  }
  for (const StateNumbers& numbers : state.numbers)
    header.numbers.push_back({numbers.name, numbers.memory.bytes()});
  header.properties = properties_;
  return header;
}

void Checkpoint::save(AnySolver& solver) {
  const SolverState state(solver);
  CheckpointHeader header = describe(solver);
  const auto text_bytes = static_cast<index_t>(header.text().size());
  const bool first = comm_.rank() == 0;

  SharedFile shared(comm_, lock_ ? lock_->target() : "", text_bytes + header.data_bytes(),
                    [&](const std::string& partial) { lock_->note_partial(partial); });
  std::uint64_t sum = 0;
  together(comm_, [&] {
    const File file = File::open_for_writing(shared.path());
    Body body(file, text_bytes);
    for (std::size_t i = 0; i < state.arrays.size(); ++i)
      body.write(state.arrays[i], header.array_offset(i));
    for (std::size_t i = 0; i < state.numbers.size(); ++i) {
      const BufferRef& memory = state.numbers[i].memory;
      const HostCopy host(memory.data, memory.where, memory.bytes());
      body.write(host.data(), memory.bytes(),
                 header.numbers_offset(i) + comm_.rank() * memory.bytes());
    }
    if (first) {
      const std::vector<double> history = as_numbers(solver.history());
      body.write(history.data(), static_cast<index_t>(std::span(history).size_bytes()),
                 header.history_offset());
    }
    if (!first) file.sync();  // rank 0 has more to write
    sum = body.sum();
  });
  header.checksum = comm_.allreduce(sum);
  together(comm_, [&] {
    if (!first) return;
    const File file = File::open_for_writing(shared.path());
    file.write(header.text().data(), text_bytes, 0);
    file.sync();
  });
  shared.replace_target();
  last_iteration_ = solver.iteration();
  last_time_ = Clock::now();
}

Checkpoint::Resumed Checkpoint::restore(AnySolver& solver) const {
  const SolverState state(solver);
  const CheckpointHeader current = describe(solver);
  const bool first = comm_.rank() == 0;
  CheckpointHeader saved;
  Resumed resumed;
  std::uint64_t sum = 0;
  together(comm_, [&] {
    const File file = File::open(path_);
    index_t text_bytes = 0;
    saved = read_checkpoint_header(file, text_bytes);
    if (const std::string what = difference(saved, current); !what.empty()) {
      refuse(
          "{}: the checkpoint '{}' is of another problem: {}; resume the problem that it was "
          "saved for, use another path, or start anew with resume = false, which replaces it",
          solver_, path_, what);
    }
    resumed.is_repartitioned = saved.partition != current.partition;
    Body body(file, text_bytes);
    for (std::size_t i = 0; i < state.arrays.size(); ++i)
      body.read(state.arrays[i], saved.array_offset(i));
    for (std::size_t i = 0; i < state.numbers.size(); ++i) {
      const index_t block = saved.numbers[i].bytes;
      const index_t place = saved.numbers_offset(i);
      if (first) body.read_words(saved.ranks * block, place, true, [](auto) {});
      const auto& [name, memory, common] = state.numbers[i];
      if (block < common * size_of(memory.dtype))
        throw damaged_checkpoint(path_, fmt::format("each rank has {} bytes of {}", block, name));
      std::vector<std::byte> mine(static_cast<std::size_t>(std::min(block, memory.bytes())));
      // Every block begins with the numbers that all ranks have in common.
      const index_t offset = resumed.is_repartitioned ? 0 : comm_.rank() * block;
      body.read(mine.data(), static_cast<index_t>(mine.size()), place + offset);
      copy_bytes(memory.data, memory.where, mine.data(), Device::cpu(), mine.size());
    }
    const index_t history_bytes = saved.history_length * bytes_per_status;
    body.read_words(history_bytes, saved.history_offset(), first, [&](auto numbers) {
      if (!append(resumed.history, numbers))
        throw damaged_checkpoint(path_, "its history is out of order");
    });
    sum = body.sum();
  });
  const bool is_intact = comm_.allreduce(sum) == saved.checksum;
  std::string error = is_intact ? "" : damaged_checkpoint(path_, "its checksum is wrong").what();
  for (std::size_t i = 0; i < state.integers.size(); ++i)
    *state.integers[i].value = saved.integers[i].value;
  if (is_intact && resumed.history.back().iteration != solver.iteration())
    error = damaged_checkpoint(path_, "its history ends in another iteration").what();
  comm_.agree(error);
  return resumed;
}

#define INSTANTIATE(T) \
  template void Checkpoint::depends_on(std::string_view, const ConstArrayView<T>&, bool);
WEFT_FOR_EACH_SCALAR(INSTANTIATE)
#undef INSTANTIATE

}  // namespace weft::detail
