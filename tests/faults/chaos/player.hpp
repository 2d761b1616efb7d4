#pragma once

#include <weft/comm/comm.hpp>

#include "faults/chaos/plan.hpp"

#include <deque>
#include <memory>
#include <stdexcept>

namespace weft::chaos {

/// A call returned a wrong result.
class WrongData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call in progress: waits and checks the result.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual void complete() = 0;
};

/// Makes the calls of a plan on one rank and checks their results.
class Player {
 public:
  explicit Player(Comm world) : world_(std::move(world)) {}

  void play(const Step& step);
  /// Completes all calls in progress.
  void finish();
  const Comm& world() const { return world_; }

 private:
  void play_collective(const Step& step);
  void play_messages(const Step& step);
  void play_arrays(const Step& step);
  void begin(const Step& step);
  void complete_oldest();

  Comm world_;
  std::deque<std::unique_ptr<Pending>> under_way_;
};

}  // namespace weft::chaos
