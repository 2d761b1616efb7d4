#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The version of the library, such as "0.1.0".
std::string_view version();

/// A fact about this build or this machine.
struct Fact {
  std::string section;
  std::string name;
  std::string value;
};

/// Build options, libraries found at run time, hardware, and what the fast allreduce can use. Needs
/// no ranks and does not start MPI.
std::vector<Fact> system_facts();

}  // namespace weft
