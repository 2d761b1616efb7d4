// Environment variables, one NAME=value per line: those that launchers set and those that users do.
// They are refused with an Error, or understood.

#include <weft/comm/comm.hpp>
#include <weft/core/device.hpp>
#include <weft/core/error.hpp>

#include "comm/device_route.hpp"
#include "comm/launch_checks.hpp"
#include "faults/fuzz/fuzz_target.hpp"

#include <cstdlib>
#include <map>
#include <sstream>

namespace {

using namespace weft;
using faults::expect;

using Variables = std::map<std::string, std::string>;

Variables variables_of(const std::string& text) {
  Variables variables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('\0'));
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

/// Runs something that may refuse what it is given.
template <class Read>
void read(Read what) {
  try {
    what();
  } catch (const Error&) {
  }
}

void read_launcher(const detail::Environment& environment) {
  const detail::Task task = detail::find_task(environment);
  expect(task.size >= 0 && task.rank >= 0, "a rank that cannot be");
  detail::separate_worlds_complaint(task, 1, "some MPI");
  detail::nested_launchers_complaint(environment);
  detail::no_mpi_complaint(task);
  const std::vector<detail::Place> places(3, {"host", {0, 1}});
  detail::crowding_note(places, environment);
  for (int rank = 0; rank < 3; ++rank) {
    read([&] {
      const int gpu = detail::gpu_for_rank(places, rank, 2, environment);
      expect(gpu >= 0 && gpu < 2, "a GPU that is not there");
    });
  }
}

/// What the library reads from the environment of the process whenever it needs it.
void read_own(const Variables& variables) {
  constexpr const char* names[] = {"WEFT_CHECK", "WEFT_DEVICE_COMM"};
  for (const char* name : names) {
    const auto found = variables.find(name);
    if (found == variables.end()) {
      unsetenv(name);
    } else {
      setenv(name, found->second.c_str(), 1);
    }
  }
  read([] { static_cast<void>(Comm::self().checks_calls()); });
  read([] { static_cast<void>(detail::requested_route()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Variables variables = variables_of(faults::as_text(data, size));
  read_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  read_own(variables);
  for (const auto& [name, value] : variables) {
    read([&, &text = value] {
      const Device device = Device::parse(text);
      expect(Device::parse(to_string(device)) == device, "a device that changes with its name");
    });
  }
  return 0;
}
