#pragma once

// Shared by all fuzz targets: a file in memory to read from, and a way to fail.

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::faults {

/// Inputs of libFuzzer.
inline std::string as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The path of a file with these bytes, in a folder that is removed when the process ends. The next
/// call replaces the bytes.
std::string file_with(const std::string& bytes);

/// Ends the process, as a sanitizer would.
[[noreturn]] void fail(const std::string& what);

inline void expect(bool condition, const char* what) {
  if (!condition) fail(what);
}

}  // namespace weft::faults

/// Defined by each target. Does not throw; ends the process on an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
