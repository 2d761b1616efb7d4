#pragma once

// Scenarios: operations on files whose calls fail, and the required state afterwards.

#include <memory>
#include <string>
#include <vector>

namespace weft::faults {

/// An operation of a program on one file in its own folder.
class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual std::string name() const = 0;
  /// The file in its folder that it reads or writes.
  virtual std::string path(const std::string& folder) const = 0;
  /// Creates the initial state in an empty folder.
  virtual void prepare(const std::string& folder) const = 0;
  /// Throws if it fails; on all ranks, with the same text.
  virtual void run(const std::string& folder) const = 0;
  /// Empty if the folder holds the state after `run` (`is_new`), or that or the one before.
  virtual std::string error(const std::string& folder, bool is_new) const = 0;
  /// Runs again after the program was killed in `run`, and removes the files that it left. False if
  /// it cannot identify them.
  virtual bool cleans_up(const std::string&) const { return false; }
};

/// All scenarios, on 1 and 3 thread ranks.
std::vector<std::unique_ptr<Scenario>> scenarios();

}  // namespace weft::faults
