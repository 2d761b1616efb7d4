#include "io/box_file.hpp"

#include <weft/core/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>

namespace weft::detail {
namespace {

/// Elements per piece of work of a thread: few enough to stay in its cache.
constexpr index_t piece_size = 8192;

/// Stores the exception of the first job that fails: exceptions must not leave a parallel region.
class FirstFailure {
 public:
  template <class F>
  void guard(index_t job, F f) {
    if (job > first_) return;
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (job > first_) return;
      first_ = job;
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic<index_t> first_ = std::numeric_limits<index_t>::max();
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

Runs::Runs(const Shape& shape, const Box& box) : shape_(shape), box_(box) {
  if (box.shape.count() == 0) return;
  // A run includes an axis if the box has all axes after it completely.
  first_ = shape.ndim();
  while (first_ > 0 && (first_ == shape.ndim() || box.shape[first_] == shape[first_])) --first_;
  length_ = box.shape.count(first_, shape.ndim());
  count_ = box.shape.count() / length_;
}

index_t Runs::place(index_t run) const {
  Index at = box_.offset;
  for (int axis = first_ - 1; axis >= 0; --axis) {
    at[axis] += run % box_.shape[axis];
    run /= box_.shape[axis];
  }
  return linear(shape_, at);
}

void share_pieces(const Runs& runs, const std::function<void(index_t, index_t, index_t)>& f) {
  const index_t length = runs.length();
  const index_t pieces = (length + piece_size - 1) / piece_size;  // of a run
  FirstFailure failure;
  share_jobs(runs.count() * pieces, threads_for(runs.count() * length), [&](index_t job) {
    failure.guard(job, [&] {
      const index_t run = job / pieces;
      const index_t begin = job % pieces * piece_size;
      f(runs.place(run) + begin, run * length + begin, std::min(piece_size, length - begin));
    });
  });
  failure.rethrow();
}

void write_box(const File& file, const Shape& shape, const Box& box, index_t offset,
               const void* data, index_t element) {
  const auto* bytes = static_cast<const char*>(data);
  for_each_run(shape, box, [&](index_t to, index_t from, index_t count) {
    file.write(bytes + from * element, count * element, offset + to * element);
  });
}

void read_box(const File& file, const Shape& shape, const Box& box, index_t offset, void* data,
              index_t element) {
  auto* bytes = static_cast<char*>(data);
  share_pieces(Runs(shape, box), [&](index_t from, index_t to, index_t count) {
    file.read(bytes + to * element, count * element, offset + from * element);
  });
}

}  // namespace weft::detail
