#include "faults/chaos/record.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <system_error>

namespace weft::chaos {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

SharedRecord::SharedRecord()
    : path_((std::filesystem::temp_directory_path() / "weft-chaos-XXXXXX").string()), owner_(true) {
  const int file = mkstemp(path_.data());
  if (file < 0 || ftruncate(file, sizeof(Record)) != 0) fail("a file to share");
  map(file);
}

SharedRecord::SharedRecord(const std::string& path) : path_(path), owner_(false) {
  const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail("the file to share");
  map(file);
}

void SharedRecord::map(int file) {
  void* memory = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) fail("shared memory");
  record_ = static_cast<Record*>(memory);
  if (owner_) clear();
}

SharedRecord::~SharedRecord() {
  munmap(record_, sizeof(Record));
  if (owner_) unlink(path_.c_str());
}

void SharedRecord::clear() { new (record_) Record; }

}  // namespace weft::chaos
