#include "comm/shared_segment.hpp"

#include "comm/gather_objects.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::detail {
namespace {

/// A step of making a segment, and the system error that ended it.
struct Step {
  enum Kind : std::int32_t { create, reserve, open_peer, map, lock, compare };
  Kind kind = create;
  std::int32_t error = 0;
};

std::string describe(const Step& step, int rank, std::size_t bytes) {
  const char* error = std::strerror(step.error);
  switch (step.kind) {
    case Step::create: return fmt::format("rank {} cannot create shared memory: {}", rank, error);
    case Step::reserve:
      return fmt::format("rank {} cannot reserve {} bytes of shared memory: {}", rank, bytes,
                         error);
    case Step::open_peer:
      return fmt::format("rank {} cannot open the shared memory of its host: {}", rank, error);
    case Step::map:
      return fmt::format("rank {} cannot map {} bytes of shared memory: {}", rank, bytes, error);
    case Step::lock: return fmt::format("rank {} cannot lock shared memory: {}", rank, error);
    case Step::compare: break;
  }
  return fmt::format("rank {} does not see what the others write to shared memory", rank);
}

/// Where a process finds the file that the first member of its host has created.
struct Location {
  std::int64_t process = 0;
  std::int32_t file = -1;
  Step step;
  /// The identity of the file: where processes have name spaces of their own, the same path leads
  /// elsewhere.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

void identify(int file, Location& location) {
  struct stat status = {};
  if (fstat(file, &status) != 0) return;
  location.device = status.st_dev;
  location.inode = status.st_ino;
}

struct flock lock_of(int position, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = position;
  lock.l_len = 1;
  return lock;
}

/// Closes the file unless it is taken.
class OpenFile {
 public:
  OpenFile() = default;
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void reset(int file) { std::swap(file_, file); }
  int get() const { return file_; }
  int take() { return std::exchange(file_, -1); }

 private:
  int file_ = -1;
};

/// The words by which members prove that they share the memory, at its end.
class Proofs {
 public:
  static constexpr std::size_t bytes_each = 64;

  Proofs(std::byte* first, std::size_t members) : first_(first), members_(members) {}

  void write(std::size_t position) { word(position).store(value(position)); }
  bool all_written() const {
    for (std::size_t position = 0; position < members_; ++position) {
      if (word(position).load() != value(position)) return false;
    }
    return true;
  }

 private:
  static std::uint64_t value(std::size_t position) { return 0x77656674ULL << 32 | (position + 1); }
  std::atomic<std::uint64_t>& word(std::size_t position) const {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(first_ + position * bytes_each);
  }

  std::byte* first_;
  std::size_t members_;
};

}  // namespace

SharedSegment::Result SharedSegment::make(Transport& transport, const std::vector<int>& members,
                                          std::size_t bytes) {
  const auto position = static_cast<std::size_t>(
      std::find(members.begin(), members.end(), transport.rank()) - members.begin());
  constexpr std::size_t page = 4096;
  const std::size_t data_bytes = (bytes + page - 1) / page * page;
  const std::size_t mapped_bytes = data_bytes + members.size() * Proofs::bytes_each;
  // Returns the error of the first rank that has one, on all ranks.
  const auto first_error = [&](const Step& mine) {
    const auto steps = gather_objects(transport, mine);
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
      if (steps[rank].error != 0) {
        return describe(steps[rank], static_cast<int>(rank), mapped_bytes);
      }
    }
    return std::string();
  };

  OpenFile file;
  Location location;
  if (position == 0) {
    file.reset(memfd_create("weft", MFD_CLOEXEC));
    if (file.get() < 0) {
      location.step = {Step::create, errno};
    } else if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(mapped_bytes))) {
      // Without pages in reserve, an access would end the process with SIGBUS.
      location.step = {Step::reserve, error};
    }
    location.process = getpid();
    location.file = file.get();
    identify(file.get(), location);
  }
  const Location first =
      gather_objects(transport, location)[static_cast<std::size_t>(members.front())];
  Step step = first.step;
  if (step.error == 0 && position != 0) {
    const std::string path = fmt::format("/proc/{}/fd/{}", first.process, first.file);
    file.reset(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) step = {Step::open_peer, errno};
    Location found;
    identify(file.get(), found);
    if (step.error == 0 && (found.device != first.device || found.inode != first.inode)) {
      step = {Step::open_peer, EXDEV};
    }
  }
  std::unique_ptr<SharedSegment> segment;
  if (step.error == 0) {
    void* memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) {
      step = {Step::map, errno};
    } else {
      segment.reset(new SharedSegment(file.take(), static_cast<std::byte*>(memory), mapped_bytes));
      struct flock lock = lock_of(static_cast<int>(position), F_WRLCK);
      if (fcntl(segment->file_, F_OFD_SETLK, &lock) != 0) step = {Step::lock, errno};
      Proofs(segment->data_ + data_bytes, members.size()).write(position);
    }
  }
  std::string error = first_error(step);
  if (!error.empty()) return {nullptr, std::move(error)};
  const bool shared = Proofs(segment->data_ + data_bytes, members.size()).all_written();
  error = first_error({Step::compare, shared ? 0 : EIO});
  if (!error.empty()) return {nullptr, std::move(error)};
  return {std::move(segment), {}};
}

SharedSegment::~SharedSegment() {
  munmap(data_, mapped_bytes_);
  close(file_);
}

bool SharedSegment::has_ended(int position) const {
  struct flock lock = lock_of(position, F_WRLCK);
  return fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace weft::detail
