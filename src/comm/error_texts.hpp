#pragma once

// What is said where an exception cannot tell. Short enough for a std::string without memory, or
// copied into memory that was set aside.

namespace weft::detail {

inline constexpr const char* no_memory_text = "out of memory";
inline constexpr const char* unknown_exception_text = "an exception that is no std::exception";
inline constexpr const char* unfinished_call_text =
    "an error left a call unfinished that had been started";

}  // namespace weft::detail
