#pragma once

#include <weft/comm/comm.hpp>

#include <vector>

namespace weft::bench {

struct RankFacts {
  std::string host;
  int pid = 0;
  std::string device;
  std::string device_name;
  /// Tells the devices of a host apart.
  std::string device_id;
};

/// What a measurement was made on.
struct World {
  std::string version;
  /// In UTC.
  std::string date;
  std::string transport;
  Route route;
  std::vector<RankFacts> ranks;
  std::string sharing;
  /// What figures must not be taken for.
  std::vector<std::string> warnings;
};

/// Collective; every rank knows all of it.
World describe_world(const Comm& world);

/// How many ranks are on how many devices, in words.
std::string sharing_text(const std::vector<RankFacts>& ranks, DeviceKind kind);
int distinct_devices(const std::vector<RankFacts>& ranks);

}  // namespace weft::bench
