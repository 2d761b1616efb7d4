#include "faults/fuzz/fuzz_target.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace weft::faults {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    path_ = std::string(fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp") + "/weft-fuzz-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) fail("no folder for the file could be made");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::string file_with(const std::string& bytes) {
  static const Folder folder;
  std::string path = folder.path() + "/file";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail("cannot write " + path);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !written) fail("cannot write " + path);
  return path;
}

void fail(const std::string& what) {
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  std::abort();
}

}  // namespace weft::faults
