#pragma once

// What the ranks of a run leave behind, in memory that outlives their process: how each of them
// ended, and when.

#include <atomic>
#include <cstdint>
#include <string>

namespace weft::chaos {

inline constexpr int max_ranks = 64;

enum class Ending : int { none, returned, failed };

struct RankRecord {
  std::atomic<Ending> ending{Ending::none};
  std::int64_t at = 0;  // in the time of now()
  std::atomic<int> pid{0};
  char text[500] = "";  // of the error
};

struct Record {
  std::atomic<std::int64_t> fault_at{0};  // 0: it did not come to it
  std::atomic<bool> wrong_data{false};
  RankRecord ranks[max_ranks];
};

/// A record in a file that other processes can map too.
class SharedRecord {
 public:
  /// A new file.
  SharedRecord();
  /// That of another process.
  explicit SharedRecord(const std::string& path);
  ~SharedRecord();
  SharedRecord(const SharedRecord&) = delete;
  SharedRecord& operator=(const SharedRecord&) = delete;

  Record* operator->() { return record_; }
  Record& operator*() { return *record_; }
  const std::string& path() const { return path_; }
  /// As new.
  void clear();

 private:
  void map(int file);

  std::string path_;
  bool owner_;
  Record* record_ = nullptr;
};

}  // namespace weft::chaos
