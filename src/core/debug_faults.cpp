#include "core/backtrace.hpp"
#include "core/debug_blocks.hpp"
#include "core/this_rank.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace weft::detail {
namespace {

/// Further blocks are not described. The table is address space only until it is used.
constexpr std::size_t max_blocks = std::size_t{1} << 20;

const std::byte* watched_begin = nullptr;
const std::byte* watched_end = nullptr;
const DebugBlocks* watched_blocks = nullptr;
struct sigaction previous = {};
/// The thread that reports its fault; 0 if none does.
std::atomic<pid_t> explaining = 0;

/// A text made without heap memory and locks, for a signal handler.
class Text {
 public:
  Text& operator<<(std::string_view text) {
    const std::size_t length = std::min(text.size(), sizeof(letters_) - used_);
    std::memcpy(letters_ + used_, text.data(), length);
    used_ += length;
    return *this;
  }
  Text& operator<<(const char* text) { return *this << std::string_view(text); }
  Text& operator<<(index_t number) {
    if (number < 0) *this << "-";
    return append(
        number < 0 ? -static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number), 10);
  }
  Text& operator<<(int number) { return *this << static_cast<index_t>(number); }
  Text& operator<<(const void* address) {
    *this << "0x";
    return append(reinterpret_cast<std::uintptr_t>(address), 16);
  }
  void write_out() const {
    for (std::size_t written = 0; written < used_;) {
      const ssize_t count = ::write(STDERR_FILENO, letters_ + written, used_ - written);
      if (count <= 0) return;
      written += static_cast<std::size_t>(count);
    }
  }

 private:
  Text& append(std::uint64_t number, unsigned base) {
    char digits[24];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number > 0);
    while (count > 0) *this << std::string_view(&digits[--count], 1);
    return *this;
  }

  char letters_[1024] = {};
  std::size_t used_ = 0;
};

void append_rank(Text& text, int rank) {
  if (rank < 0) {
    text << "a thread without a rank";
  } else {
    text << "rank " << rank;
  }
}

/// The access as the processor reports it.
struct Access {
  void* instruction = nullptr;
  std::string_view verb = "accesses";
};

Access access_of([[maybe_unused]] const void* context) {
  Access access;
#if defined(__x86_64__)
  const mcontext_t& state = static_cast<const ucontext_t*>(context)->uc_mcontext;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): only printed
  access.instruction = reinterpret_cast<void*>(state.gregs[REG_RIP]);
  access.verb = (state.gregs[REG_ERR] & 2) != 0 ? "writes" : "reads";
#elif defined(__aarch64__)
  const mcontext_t& state = static_cast<const ucontext_t*>(context)->uc_mcontext;
  access.instruction = reinterpret_cast<void*>(state.pc);
#endif
  return access;
}

void explain(const std::byte* address, const Access& access) {
  Text text;
  text << "weft: ";
  append_rank(text, this_rank());
  text << ": the host " << access.verb << " memory of the debug device at "
       << static_cast<const void*>(address)
       << "; only kernels and copies may: use to_host() and from_host()\n";
  const DebugBlock* block = watched_blocks->find(address);
  if (block != nullptr) {
    const auto bytes = static_cast<index_t>(block->element_size) * block->count;
    text << "weft: it is byte " << static_cast<index_t>(address - block->begin) << " of "
         << (block->label.front() != 0 ? block->label.data() : "a buffer") << ": " << bytes
         << " bytes (" << block->count << " elements of "
         << static_cast<index_t>(block->element_size) << ") at "
         << static_cast<const void*>(block->begin) << " to "
         << static_cast<const void*>(block->begin + bytes) << ", allocation " << block->number
         << ", of ";
    append_rank(text, block->rank);
    text << (block->in_use ? "\n" : ", which has been released\n");
  }
  text << "weft: accessed by the instruction at " << access.instruction << ", called from\n";
  text.write_out();
  void* frames[32];
  if (access.instruction != nullptr) print_backtrace(&access.instruction, 1, STDERR_FILENO);
  const int count = take_backtrace(frames, 32);
  // Skip the frames of this handler if they can be identified.
  void** const begin = std::find(frames, frames + count, access.instruction);
  void** const caller = begin == frames + count ? frames : begin + 1;
  print_backtrace(caller, static_cast<int>(frames + count - caller), STDERR_FILENO);
  if (block == nullptr) return;
  Text allocation;
  allocation << "weft: allocated from\n";
  allocation.write_out();
  print_backtrace(block->stack.data(), block->frames, STDERR_FILENO);
}

/// Restores the previous handler and lets the fault or signal happen again.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    sigaction(signal, &previous, nullptr);
    if (info->si_code <= 0) raise(signal);  // it was sent; no instruction repeats it
  } else {
    previous.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  const bool is_ours = info->si_code > 0 && address >= watched_begin && address < watched_end;
  if (!is_ours) return pass_on(signal, info, context);
  const auto me = static_cast<pid_t>(syscall(SYS_gettid));
  pid_t other = 0;
  if (explaining.compare_exchange_strong(other, me)) {
    explain(address, access_of(context));
  } else if (other != me) {
    // Several threads may fault at once. The first one reports and ends the program.
    for (;;) pause();
  }
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  // Do not return: a kernel of another thread may have made the memory accessible by now.
  raise(signal);
}

}  // namespace

DebugBlocks::DebugBlocks() {
  void* table = mmap(nullptr, max_blocks * sizeof(DebugBlock), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table != MAP_FAILED) blocks_ = static_cast<DebugBlock*>(table);
}

void DebugBlocks::add(std::byte* begin, std::size_t size) noexcept {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (blocks_ == nullptr || count == max_blocks) return;
  DebugBlock* block = std::construct_at(blocks_ + count);
  block->begin = begin;
  block->size = size;
  count_.store(count + 1, std::memory_order_release);
}

DebugBlock* DebugBlocks::find(const void* address) const noexcept {
  DebugBlock* const end = blocks_ + count_.load(std::memory_order_acquire);
  DebugBlock* const next = std::upper_bound(
      blocks_, end, static_cast<const std::byte*>(address),
      [](const std::byte* at, const DebugBlock& block) { return at < block.begin; });
  if (next == blocks_) return nullptr;
  DebugBlock* const block = next - 1;
  return address < block->begin + block->size ? block : nullptr;
}

void explain_faults(const std::byte* begin, std::size_t bytes, const DebugBlocks& blocks) {
  watched_begin = begin;
  watched_end = begin + bytes;
  watched_blocks = &blocks;
  // The first call loads a library, which a signal handler must not do.
  void* frame = nullptr;
  take_backtrace(&frame, 1);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
}

}  // namespace weft::detail
