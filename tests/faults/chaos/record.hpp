#pragma once

// How and when the ranks of a run ended, in memory that outlives their processes.

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
  std::atomic<std::int64_t> fault_at{0};  // 0: not reached
  std::atomic<bool> wrong_data{false};
  RankRecord ranks[max_ranks];
};

/// A record in a file that other processes can map.
class SharedRecord {
 public:
  /// Creates a file.
  SharedRecord();
  /// Opens the file of another process.
  explicit SharedRecord(const std::string& path);
  ~SharedRecord();
  SharedRecord(const SharedRecord&) = delete;
  SharedRecord& operator=(const SharedRecord&) = delete;

  Record* operator->() { return record_; }
  Record& operator*() { return *record_; }
  const std::string& path() const { return path_; }
  /// Resets the record.
  void clear();

 private:
  void map(int file);

  std::string path_;
  bool owner_;
  Record* record_ = nullptr;
};

}  // namespace weft::chaos
