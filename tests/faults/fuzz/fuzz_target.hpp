#pragma once

// What all fuzz targets need: a file in memory to read from, and a way to fail.

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::faults {

/// Inputs as libFuzzer gives them.
inline std::string as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The path of a file with these bytes, in a folder of this process that is removed at its end.
/// The next call replaces them.
std::string file_with(const std::string& bytes);

/// Ends the process, as a sanitizer would.
[[noreturn]] void fail(const std::string& what);

inline void expect(bool condition, const char* what) {
  if (!condition) fail(what);
}

}  // namespace weft::faults

/// Each target defines it. Throws nothing and ends the process if something is wrong.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
