#pragma once

#include "bench/cases.hpp"

#include <memory>

namespace weft::bench {

/// The bare calls of the library that carries our messages.
class Raw {
 public:
  Raw() = default;
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  virtual ~Raw() = default;

  virtual std::string_view name() const = 0;
  /// The call that does what ours does at this point, on the same memory; null if there is none.
  virtual std::function<void()> bind(Kind kind, const Where& at, const Plan& plan, Form form,
                                     BufferRef in, BufferRef out) const = 0;
};

/// Null, with the reason, where no library lies beneath.
struct RawChoice {
  std::unique_ptr<Raw> raw;
  std::string reason;
};
RawChoice choose_raw(const Comm& world);

// Defined in builds that have them. `world` is the whole job.
std::unique_ptr<Raw> make_raw_mpi(const Comm& world);
std::unique_ptr<Raw> make_raw_nccl(const Comm& world);

}  // namespace weft::bench
