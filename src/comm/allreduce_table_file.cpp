#include "comm/allreduce_table_file.hpp"

#include <weft/core/error.hpp>

#include "core/printable.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <sstream>

namespace weft::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view format_name = "weft allreduce table";
constexpr int format_version = 1;
constexpr std::size_t longest_text = 200;  // of a file name, or of an error of the JSON library

/// A value in an error message.
std::string quoted(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// `what` is the object's name in errors.
void require_fields(const Json& object, const std::string& what,
                    std::initializer_list<std::string_view> fields) {
  require(object.is_object(), "{} must be an object, got {}", what, quoted(object));
  std::string names;
  for (const std::string_view field : fields) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", field);
  }
  for (const std::string_view field : fields) {
    require(object.contains(field), "{} has no '{}'; it must have {}", what, field, names);
  }
  for (const auto& [name, value] : object.items()) {
    require(std::find(fields.begin(), fields.end(), name) != fields.end(),
            "{} has an unknown field '{}'; it must have {}", what, printable(name), names);
  }
}

/// Refuses all but whole numbers from 1 to `most`.
index_t number_of(const Json& value, const std::string& what, index_t most,
                  std::string_view allowed) {
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) refuse("{} must be {}, got {}", what, allowed, quoted(value));
  return static_cast<index_t>(value.get<std::uint64_t>());
}

AllreducePlace place_of(const Json& value, const std::string& row) {
  for (const AllreducePlace place : {AllreducePlace::thread, AllreducePlace::process,
                                     AllreducePlace::gpu_thread, AllreducePlace::gpu_process}) {
    if (value == to_string(place)) return place;
  }
  refuse("{}: place must be thread, process, gpu_thread or gpu_process, got {}", row,
         quoted(value));
}

AllreduceLimit limit_of(const Json& json, const std::string& row) {
  require_fields(json, row, {"place", "ranks", "up_to", "algorithm"});
  AllreduceLimit limit;
  limit.place = place_of(json["place"], row);
  limit.ranks =
      static_cast<int>(number_of(json["ranks"], row + ": ranks", std::numeric_limits<int>::max(),
                                 "a positive number of ranks"));
  if (!json["up_to"].is_null()) {
    limit.up_to = number_of(json["up_to"], row + ": up_to", AllreduceLimit::unlimited,
                            "a positive number of bytes, or null for no limit");
  }
  const Json& name = json["algorithm"];
  const AllreduceRow* found =
      name.is_string() ? find_allreduce_row(limit.place, name.get<std::string>()) : nullptr;
  if (found == nullptr) {
    refuse("{}: algorithm must be one of {} for place {}, got {}", row,
           allreduce_names(limit.place), to_string(limit.place), quoted(name));
  }
  limit.algorithm = found->algorithm;
  return limit;
}

Json parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // The text begins with "[json.exception.parse_error.101] ".
    const std::string_view what = error.what();
    const std::size_t end = what.find("] ");
    refuse("not JSON: {}",
           printable(what.substr(end == std::string_view::npos ? 0 : end + 2), longest_text));
  }
}

}  // namespace

std::vector<AllreduceLimit> parse_allreduce_limits(std::string_view text) {
  const Json file = parse_json(text);
  require_fields(file, "the table", {"format", "version", "rows"});
  require(file["format"] == format_name, "format must be \"{}\", got {}", format_name,
          quoted(file["format"]));
  require(file["version"] == format_version, "version must be {}, got {}", format_version,
          quoted(file["version"]));
  require(file["rows"].is_array(), "rows must be an array, got {}", quoted(file["rows"]));
  std::vector<AllreduceLimit> limits;
  for (const Json& row : file["rows"]) {
    limits.push_back(limit_of(row, fmt::format("row {}", limits.size() + 1)));
  }
  return limits;
}

std::vector<AllreduceLimit> read_allreduce_limits(const std::string& path) {
  const std::string name = printable(path, longest_text);
  std::ifstream file(path, std::ios::binary);
  file.peek();  // a folder can be opened, but not read
  if (!file.is_open() || file.bad()) {
    refuse("WEFT_TABLE: cannot read '{}': {}", name, std::strerror(errno));
  }
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return parse_allreduce_limits(text.view());
  } catch (const ArgumentError& error) {
    refuse("WEFT_TABLE: '{}': {}", name, error.what());
  }
}

std::string allreduce_limits_text(std::span<const AllreduceLimit> limits) {
  // One line for each row, which dump() does not do.
  std::string rows;
  for (const AllreduceLimit& limit : limits) {
    const Json row = {
        {"place", to_string(limit.place)},
        {"ranks", limit.ranks},
        {"up_to", limit.up_to == AllreduceLimit::unlimited ? Json() : Json(limit.up_to)},
        {"algorithm", allreduce_row(limit.place, limit.algorithm).name}};
    rows += fmt::format("{}\n  {}", rows.empty() ? "" : ",", row.dump());
  }
  return fmt::format("{{\"format\": \"{}\", \"version\": {}, \"rows\": [{}]}}\n", format_name,
                     format_version, rows);
}

}  // namespace weft::detail
