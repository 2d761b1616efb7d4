#pragma once

#include <weft/core/shape.hpp>

#include <string>

namespace weft::detail {

/// Memory that a transport knows in advance, so that other ranks can access it: what
/// RegisteredMemory holds.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
  MemoryRegistration(const MemoryRegistration&) = delete;
  MemoryRegistration& operator=(const MemoryRegistration&) = delete;

  virtual void* data() const = 0;
  virtual index_t bytes() const = 0;
  /// Why other ranks do not access it; the same on all ranks, empty if they do.
  virtual const std::string& obstacle() const = 0;
  /// Collective. Afterwards no rank accesses the memory, and it may be freed.
  virtual void end() = 0;
  /// Instead of end(), if this rank has failed: others may still access the memory.
  virtual void abandon() noexcept = 0;

 protected:
  MemoryRegistration() = default;
};

}  // namespace weft::detail
