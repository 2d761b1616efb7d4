#include "core/debug_memory.hpp"

#include <weft/core/device_access.hpp>

#include "core/backtrace.hpp"
#include "core/debug_blocks.hpp"
#include "core/this_rank.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace weft::detail {
namespace {

/// One range of addresses, protected as a whole: the arrays of a kernel are not known from outside,
/// and one system call is cheaper than one per array.
class DebugArena {
 public:
  DebugArena() {
    void* base =
        mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(base);
    explain_faults(base_, reserved, blocks_);
  }

  void* allocate(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t size = (bytes + page - 1) / page * page;
    const std::lock_guard lock(mutex_);
    if (base_ == nullptr || size > reserved - used_) return nullptr;
    std::byte* data = base_ + used_;
    used_ += size;
    blocks_.add(data, size);
    if (users_ > 0) protect(PROT_READ | PROT_WRITE);
    return data;
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (users_++ == 0) protect(PROT_READ | PROT_WRITE);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) protect(PROT_NONE);
  }

  /// Calls change(block) for the block that contains this address.
  template <class Change>
  void update(const void* data, Change change) {
    const std::lock_guard lock(mutex_);
    if (DebugBlock* block = blocks_.find(data)) change(*block);
  }

 private:
  void protect(int rights) {
    if (used_ > 0) mprotect(base_, used_, rights);
  }

  static constexpr std::size_t reserved = std::size_t{1} << 36;

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
  int users_ = 0;
  DebugBlocks blocks_;
};

DebugArena& arena() {
  static auto& instance = *new DebugArena;
  return instance;
}

}  // namespace

void* debug_allocate(std::size_t bytes) { return arena().allocate(bytes); }

// The addresses stay reserved; only their memory is released.
void debug_release(void* data, std::size_t bytes) noexcept { madvise(data, bytes, MADV_DONTNEED); }

void debug_lend(void* data, index_t count, std::size_t element_size) noexcept {
  static std::atomic<index_t> lent = 0;
  arena().update(data, [&](DebugBlock& block) {
    block.count = count;
    block.element_size = element_size;
    block.number = ++lent;
    block.rank = this_rank();
    block.in_use = true;
    block.frames = take_backtrace(block.stack.data(), DebugBlock::max_frames);
    block.label.front() = 0;
  });
}

void debug_label(const void* data, std::string_view what) noexcept {
  arena().update(data, [&](DebugBlock& block) {
    const std::size_t length = std::min(what.size(), block.label.size() - 1);
    std::copy_n(what.begin(), length, block.label.begin());
    block.label[length] = 0;
  });
}

void debug_give_back(void* data) noexcept {
  arena().update(data, [](DebugBlock& block) { block.in_use = false; });
}

DebugAccess::DebugAccess() { arena().open(); }
DebugAccess::~DebugAccess() { arena().close(); }

}  // namespace weft::detail
