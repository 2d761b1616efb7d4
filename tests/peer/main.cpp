// Applies the operators of the cases in FOLDER/cases.json: a list of {"id", "operator", "shape",
// "dtype", "layout", "options"}. See peer_check.py.

#include "peer/session.hpp"

#include <complex>
#include <fstream>

using namespace weft;

namespace {

template <Scalar T>
std::vector<peer::NamedOperator> all_operators() {
  std::vector<peer::NamedOperator> all;
  for (const auto& family :
       {peer::basic_operators<T>(), peer::stencil_operators<T>(), peer::signal_operators<T>(),
        peer::matrix_operators<T>(), peer::imaging_operators<T>()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

Layout layout_of(const Comm& world, const peer::Json& json) {
  const Shape shape = peer::shape_of(json.at("shape").get<std::vector<index_t>>());
  const auto kind = json.at("layout").get<std::string>();
  if (kind == "local") return Layout::local(shape);
  if (kind == "replicated") return Layout::replicated(world, shape);
  return Layout::scatter(world, shape);
}

void run(const Comm& world, const std::string& folder) {
  const peer::Json cases = peer::Json::parse(std::ifstream(folder + "/cases.json"));
  const auto real = all_operators<double>();
  const auto complex = all_operators<std::complex<double>>();
  for (const peer::Json& each : cases) {
    const auto name = each.at("operator").get<std::string>();
    bool found = false;
    for (const auto& known : each.at("dtype") == "float64" ? real : complex) {
      if (known.name != name) continue;
      known.apply(peer::Session(folder, each), layout_of(world, each));
      found = true;
    }
    require(found, "weft_peer: no operator '{}'", name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  Program program;
  program.read = [&folder](const std::vector<std::string>& arguments) {
    const std::string usage = "usage: weft_peer FOLDER\n" + launch_help();
    if (arguments.size() == 1 && arguments[0] == "--help") return usage;
    require(arguments.size() == 1, "{}", usage);
    folder = arguments[0];
    return std::string();
  };
  program.body = [&folder](const Comm& world) {
    run(world, folder);
    return 0;
  };
  return launch(argc, argv, program);
}
