#include "bench/world.hpp"

#include <weft/core/device_info.hpp>
#include <weft/info.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <ctime>
#include <set>
#include <utility>

namespace weft::bench {
namespace {

/// The facts of a rank in a fixed number of bytes.
struct Packed {
  int pid = 0;
  char host[64] = "";
  char device[16] = "";
  char device_name[96] = "";
  char device_id[32] = "";
};

template <std::size_t size>
void pack(const std::string& text, char (&buffer)[size]) {
  text.copy(buffer, size - 1);
}

Packed my_facts(Device device) {
  Packed mine;
  mine.pid = static_cast<int>(getpid());
  gethostname(mine.host, sizeof(mine.host) - 1);
  const DeviceInfo info = device_info(device);
  pack(to_string(device), mine.device);
  pack(info.name, mine.device_name);
  pack(info.id, mine.device_id);
  return mine;
}

std::vector<RankFacts> all_facts(const Comm& world) {
  const Packed mine = my_facts(world.device());
  std::vector<Packed> all(static_cast<std::size_t>(world.size()));
  const auto bytes = static_cast<index_t>(sizeof(Packed));
  world.all_gather(ConstBufferRef(&mine, bytes, DType::u8, Device::cpu()),
                   BufferRef(all.data(), bytes * world.size(), DType::u8, Device::cpu()));
  std::vector<RankFacts> facts;
  for (const Packed& rank : all) {
    facts.push_back({rank.host, rank.pid, rank.device, rank.device_name, rank.device_id});
  }
  return facts;
}

std::string counted(int number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::vector<std::string> all_warnings(const Comm& world, const std::vector<RankFacts>& ranks) {
  std::vector<std::string> warnings;
  if (world.device().kind != DeviceKind::cuda) {
    warnings.emplace_back("the buffers are in host memory: the results do not measure NVLink");
  } else if (distinct_devices(ranks) < world.size()) {
    warnings.emplace_back("ranks share a GPU: the results do not measure NVLink");
  }
  if (world.checks_calls()) {
    warnings.emplace_back("WEFT_CHECK compares calls between ranks, which takes time");
  }
  return warnings;
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

int distinct_devices(const std::vector<RankFacts>& ranks) {
  std::set<std::pair<std::string, std::string>> devices;
  for (const RankFacts& rank : ranks) devices.insert({rank.host, rank.device_id});
  return static_cast<int>(devices.size());
}

std::string sharing_text(const std::vector<RankFacts>& ranks, DeviceKind kind) {
  const int devices = distinct_devices(ranks);
  const int size = static_cast<int>(ranks.size());
  if (kind != DeviceKind::cuda) {
    return fmt::format("{} on {}", counted(size, "rank"), counted(devices, "host"));
  }
  if (devices == size) return "one GPU per rank";
  return fmt::format("{} share {}", counted(size, "rank"), counted(devices, "GPU"));
}

World describe_world(const Comm& world) {
  World facts;
  facts.version = version();
  facts.date = now();
  facts.transport = world.transport();
  facts.route = world.route(world.device());
  facts.ranks = all_facts(world);
  facts.sharing = sharing_text(facts.ranks, world.device().kind);
  facts.warnings = all_warnings(world, facts.ranks);
  return facts;
}

std::string world_text(const World& world) {
  std::string text = fmt::format("# transport: {}\n", world.transport);
  text += fmt::format("# route: {} ({})\n", world.route.name, world.route.reason);
  text += fmt::format("# ranks: {}\n", world.ranks.size());
  for (std::size_t rank = 0; rank < world.ranks.size(); ++rank) {
    const RankFacts& facts = world.ranks[rank];
    text += fmt::format("#   rank {} on {}, pid {}, {}: {}\n", rank, facts.host, facts.pid,
                        facts.device, facts.device_name);
  }
  text += fmt::format("# devices: {}\n", world.sharing);
  for (const std::string& warning : world.warnings) text += fmt::format("# warning: {}\n", warning);
  return text;
}

}  // namespace weft::bench
