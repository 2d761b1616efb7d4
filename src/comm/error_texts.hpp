#pragma once

// Error texts for situations without memory. They fit into a std::string without allocation, or are
// copied into reserved memory.

namespace weft::detail {

inline constexpr const char* no_memory_text = "out of memory";
inline constexpr const char* unknown_exception_text = "an exception that is not a std::exception";
inline constexpr const char* unfinished_call_text = "an error left a started call unfinished";

}  // namespace weft::detail
