// Environment variables, one NAME=value per line: those that launchers set and those that users do.
// They are refused with an Error, or accepted.

#include <weft/core/device.hpp>
#include <weft/core/error.hpp>

#include "comm/launch_checks.hpp"
#include "core/environment.hpp"
#include "faults/fuzz/fuzz_target.hpp"

#include <map>
#include <sstream>
#include <string>
#include <vector>

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

/// Runs a call that may refuse its input.
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
  detail::separate_worlds_error(task, 1, "some MPI");
  detail::nested_launchers_error(environment);
  detail::no_mpi_error(task);
  const std::vector<detail::RankLocation> places(3, {"host", {0, 1}});
  detail::oversubscription_note(places);
  read([&] {
    const detail::Settings settings = detail::parse_settings(environment);
    expect(settings.timeout.count() > 0 && settings.timeout.count() <= 1e9, "a limit without end");
    for (int rank = 0; rank < 3; ++rank) {
      read([&] {
        const int gpu = detail::gpu_for_rank(places, rank, 2, settings.gpus);
        expect(gpu >= 0 && gpu < 2, "a GPU that is not there");
      });
    }
  });
}

/// Only the names, as in environ.
void read_names(const Variables& variables) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  std::vector<const char*> entries;
  for (const std::string& line : lines) entries.push_back(line.c_str());
  entries.push_back(nullptr);
  for (const std::string& note : detail::notes_on_unknown_variables(entries.data())) {
    expect(note.size() < 200, "a note that quotes too much");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Variables variables = variables_of(faults::as_text(data, size));
  read_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  read_names(variables);
  for (const auto& [name, value] : variables) {
    read([&, &text = value] {
      const Device device = Device::parse(text);
      expect(Device::parse(to_string(device)) == device, "a device that changes with its name");
    });
  }
  return 0;
}
