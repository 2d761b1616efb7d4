// Weft's side of the comparison: runs the problems of a job written by compare.py, and writes times
// and answers. A job is a JSON file: {"cases": [{"id", "problem", ...}], "seconds", "loops",
// "answers"}; see cases.py for the problems.

#include <weft/weft.hpp>

#include "measure.hpp"

#include <fstream>
#include <map>

using namespace weft;
using nlohmann::json;

namespace {

std::map<std::string, compare::Problem> all_problems() {
  std::map<std::string, compare::Problem> all;
  const auto add = [&all](const std::vector<compare::Named>& some) {
    for (const auto& each : some) all[each.name] = each.run;
  };
  add(compare::array_problems());
  add(compare::derivative_problems());
  add(compare::solver_problems());
#ifdef WEFT_WITH_BLAS
  add(compare::matrix_problems());
#endif
#ifdef WEFT_WITH_FFTW
  add(compare::fourier_problems());
#endif
  return all;
}

std::string names_of_problems() {
  std::string names;
  for (const auto& [name, run] : all_problems()) names += name + "\n";
  return names;
}

void run(const Comm& world, const std::string& job_file, const std::string& out_file) {
  const json job = json::parse(std::ifstream(job_file));
  const auto problems = all_problems();
  compare::Session session(world, job);
  json results = json::object();
  for (const json& each : job.at("cases")) {
    const auto id = each.at("id").get<std::string>();
    const auto problem = problems.find(each.at("problem").get<std::string>());
    require(problem != problems.end(), "weft_side: no problem '{}'",
            each.at("problem").get<std::string>());
    session.start_case(id);
    const compare::Outcome outcome = problem->second(session, each);
    results[id] = {{"seconds", outcome.ours.seconds},
                   {"calls", outcome.ours.traffic.calls},
                   {"bytes", outcome.ours.traffic.bytes},
                   {"floor_seconds", outcome.floor_seconds},
                   {"floor", outcome.floor}};
  }
  if (world.rank() == 0) std::ofstream(out_file) << results.dump(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  Program program;
  program.read = [&files](const std::vector<std::string>& arguments) {
    const std::string usage =
        "usage: weft_side JOB.json RESULTS.json\n"
        "       weft_side --list, for the problems that it knows\n" +
        launch_help();
    for (const auto& each : arguments) {
      if (each == "--help") return usage;
      if (each == "--list") return names_of_problems();
    }
    require(arguments.size() == 2, "{}", usage);
    files = arguments;
    return std::string();
  };
  program.body = [&files](const Comm& world) {
    run(world, files[0], files[1]);
    return 0;
  };
  return launch(argc, argv, program);
}
