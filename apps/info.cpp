#include <weft/comm/launch.hpp>
#include <weft/comm/print.hpp>
#include <weft/core/device_info.hpp>
#include <weft/core/error.hpp>
#include <weft/info.hpp>

#include "subcommand.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace weft::app {
namespace {

/// The route, or why the requested one is refused.
Fact route_fact(const Comm& world, Device device) {
  Route route;
  try {
    route = world.on(device).route(device);
  } catch (const AgreedError& error) {
    route = {"refused", error.what()};
  }
  return {"communication", to_string(device) + " arrays",
          fmt::format("{}: {}", route.name, route.reason)};
}

std::vector<Fact> all_facts(const Comm& world) {
  std::vector<Fact> facts = system_facts();
  facts.push_back(
      {"communication", "ranks", fmt::format("{} on {}", world.size(), world.transport())});
  facts.push_back(route_fact(world, Device::cpu()));
  Device device = world.device();
  const bool all_have_gpus = world.allreduce(device_count(DeviceKind::cuda), ReduceOp::min) > 0;
  if (device == Device::cpu() && all_have_gpus) device = gpu_of_rank(world);
  if (device != Device::cpu()) facts.push_back(route_fact(world, device));
  return facts;
}

std::string to_text(const std::vector<Fact>& facts) {
  std::string text;
  std::string section;
  for (const Fact& fact : facts) {
    if (fact.section != section) text += fmt::format("{}\n", section = fact.section);
    text += fmt::format("  {:<21}{}\n", fact.name, fact.value);
  }
  return text;
}

std::string to_json(const std::vector<Fact>& facts) {
  nlohmann::ordered_json json;
  for (const Fact& fact : facts) json[fact.section][fact.name] = fact.value;
  return json.dump(2) + "\n";
}

class Info final : public Subcommand {
 public:
  CLI::App* declare(CLI::App& weft) override {
    CLI::App* app = weft.add_subcommand("info", "Shows the build, the libraries and the hardware");
    app->add_flag("--json", json_, "print JSON");
    return app;
  }

  int run(const Comm& world) const override {
    const std::vector<Fact> facts = all_facts(world);
    print(world, "{}", json_ ? to_json(facts) : to_text(facts));
    return 0;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_info() { return std::make_unique<Info>(); }

}  // namespace weft::app
