#include <weft/comm/parts.hpp>
#include <weft/core/error.hpp>

#include <algorithm>
#include <utility>

namespace weft {

Parts::Parts(std::vector<index_t> counts) : counts_(std::move(counts)) {
  offsets_.reserve(counts_.size());
  index_t end = 0;
  for (const index_t count : counts_) {
    offsets_.push_back(end);
    require(!__builtin_add_overflow(end, count, &end), "Parts: the sum of the counts overflows");
  }
  summarize();
}

Parts::Parts(std::vector<index_t> counts, std::vector<index_t> offsets)
    : counts_(std::move(counts)), offsets_(std::move(offsets)) {
  require(counts_.size() == offsets_.size(), "Parts: {} counts, but {} offsets", counts_.size(),
          offsets_.size());
  summarize();
}

void Parts::make_even(int ranks, index_t count) {
  // The usual case of calls in a loop.
  if (even_ && ranks > 0 && this->ranks() == ranks && counts_.front() == count) return;
  index_t extent = 0;
  require(ranks >= 0 && count >= 0 && !__builtin_mul_overflow(count, ranks, &extent),
          "Parts: {} parts of {} elements is not a valid size", ranks, count);
  counts_.assign(static_cast<std::size_t>(ranks), count);
  offsets_.resize(counts_.size());
  for (int rank = 0; rank < ranks; ++rank) offsets_[static_cast<std::size_t>(rank)] = rank * count;
  extent_ = extent;
  even_ = true;
}

void Parts::summarize() {
  for (int rank = 0; rank < ranks(); ++rank) {
    require(count(rank) >= 0 && offset(rank) >= 0, "Parts: part {} has count {} and offset {}",
            rank, count(rank), offset(rank));
    index_t end = 0;
    require(!__builtin_add_overflow(offset(rank), count(rank), &end), "Parts: part {} overflows",
            rank);
    if (count(rank) > 0) extent_ = std::max(extent_, end);
    even_ = even_ && count(rank) == count(0) && offset(rank) == rank * count(0);
  }
}

}  // namespace weft
