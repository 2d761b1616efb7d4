#pragma once

#include <weft/comm/comm.hpp>

#include <string>
#include <vector>

namespace weft::bench {

struct RankFacts {
  std::string host;
  int pid = 0;
  std::string device;
  std::string device_name;
  /// Unique on a host.
  std::string device_id;
};

/// The ranks and devices of a measurement.
struct World {
  std::string version;
  /// In UTC.
  std::string date;
  std::string transport;
  Route route;
  std::vector<RankFacts> ranks;
  std::string sharing;
  /// Reasons why the results do not measure what a reader may expect.
  std::vector<std::string> warnings;
};

/// Collective; the same on all ranks.
World describe_world(const Comm& world);

/// Lines of a header: transport, route, ranks, devices and warnings.
std::string world_text(const World& world);

/// A text such as "3 ranks share 2 GPUs".
std::string sharing_text(const std::vector<RankFacts>& ranks, DeviceKind kind);
int distinct_devices(const std::vector<RankFacts>& ranks);

}  // namespace weft::bench
