#include "io/folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace weft::test {

void in_folder(const Comm& comm, const std::function<void(const std::string&)>& body) {
  std::string name = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
  if (comm.rank() == 0 && mkdtemp(name.data()) == nullptr) name.clear();
  comm.agree(name.empty() ? "no folder for the test could be made" : "");
  // The names chosen by mkdtemp differ between ranks, their lengths do not.
  std::vector<std::uint8_t> bytes(name.begin(), name.end());
  comm.broadcast(bytes, 0);
  name.assign(bytes.begin(), bytes.end());
  try {
    body(name);
    comm.barrier();
  } catch (...) {
    if (comm.rank() == 0) std::filesystem::remove_all(name);
    throw;
  }
  if (comm.rank() == 0) std::filesystem::remove_all(name);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void on_first(const Comm& comm, const std::function<void()>& change) {
  comm.barrier();
  if (comm.rank() == 0) change();
  comm.barrier();
}

void write_on_first(const Comm& comm, const std::string& path, const std::string& content) {
  on_first(comm, [&] { std::ofstream(path, std::ios::binary) << content; });
}

}  // namespace weft::test
