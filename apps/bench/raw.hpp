#pragma once

#include "bench/cases.hpp"

#include <memory>

namespace weft::bench {

/// The bare calls of the library beneath a transport.
class Raw {
 public:
  Raw() = default;
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  virtual ~Raw() = default;

  virtual std::string_view name() const = 0;
  /// The call that is equivalent to ours, on the same memory; null if there is none.
  virtual std::function<void()> bind(Kind kind, const Where& at, const Plan& plan, Form form,
                                     BufferRef in, BufferRef out) const = 0;
};

/// Null, with the reason, if there is no library beneath.
struct RawChoice {
  std::unique_ptr<Raw> raw;
  std::string reason;
};
RawChoice choose_raw(const Comm& world);

// Defined if the build has the library. `world` contains all ranks of the job.
std::unique_ptr<Raw> make_raw_mpi(const Comm& world);
std::unique_ptr<Raw> make_raw_nccl(const Comm& world);

}  // namespace weft::bench
