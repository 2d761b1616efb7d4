#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The version of the library, such as "0.1.0".
std::string_view version();

/// One thing to know about this build or this machine.
struct Fact {
  std::string section;
  std::string name;
  std::string value;
};

/// What the library was built with, which libraries it found at run time, and what the machine has.
/// Needs no ranks, and neither starts nor needs MPI.
std::vector<Fact> system_facts();

}  // namespace weft
