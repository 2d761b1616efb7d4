#pragma once

// The environment variables of Weft. The table in environment.cpp is their only list: parsing, the
// text of --help and the check for mistyped names come from it.

#include <weft/core/cpu_level.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// Looks up an environment variable, like std::getenv.
using Environment = std::function<const char*(const char*)>;

/// The route of GPU memory that WEFT_DEVICE_COMM requests.
enum class RouteRequest : std::int32_t { automatic, fast, nccl, mpi, staged, none };

/// WEFT_ORDER: whether reductions must be computed in the order of the ranks.
enum class ReduceOrder : std::int32_t { by_rank, arbitrary };

/// The values of all variables.
struct Settings {
  /// WEFT_CHECK
  bool check = false;
  /// WEFT_TIMEOUT. Finite, and small enough for any clock to add to its current time.
  std::chrono::duration<double> timeout{300};
  /// WEFT_DEVICE_COMM
  RouteRequest device_comm = RouteRequest::automatic;
  /// WEFT_FAST
  bool fast = true;
  /// WEFT_NODE_RANKS: treat consecutive ranks as hosts of this many ranks; 0: ask the system.
  int node_ranks = 0;
  /// WEFT_TABLE: the file of the allreduce table; empty: the default table.
  std::string table;
  /// WEFT_ORDER
  ReduceOrder order = ReduceOrder::by_rank;
  /// WEFT_GPUS: the GPU of each rank of a host. Empty: ranks take GPUs in turn.
  std::vector<int> gpus;
  /// WEFT_ISA. `any`: the highest level that is available.
  CpuLevel isa = CpuLevel::any;
  /// WEFT_PROFILE
  bool profile = false;
  /// WEFT_QUIET
  bool quiet = false;
};

/// Reads and checks every variable. Throws ArgumentError, which names the variable, its value and
/// what is allowed. A variable that is set must have a value: an empty one is an error too.
Settings parse_settings(const Environment& environment);

/// The settings of this process, read once at the first call. `launch` makes that call before it
/// does anything else. Throws like parse_settings, at every call, while a value is wrong.
const Settings& settings();

/// One note for each name in `entries` ("NAME=value", up to a null pointer, like environ) that
/// begins with WEFT_ and is no variable of Weft. Names that begin with WEFT_TEST_ belong to the
/// tests.
std::vector<std::string> notes_on_unknown_variables(const char* const* entries);

/// The names of the variables, in the order of the table.
std::vector<std::string_view> variable_names();
/// One line for each variable, for --help.
std::string variables_help();

}  // namespace weft::detail
