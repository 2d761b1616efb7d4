#pragma once

#include <weft/comm/comm.hpp>

#include <functional>
#include <string>
#include <vector>

namespace weft::test {

/// Runs `body` with the name of a new folder on all ranks, and removes it afterwards.
/// Collective.
void in_folder(const Comm& comm, const std::function<void(const std::string&)>& body);

std::string content_of(const std::string& path);

/// The sorted names of all entries of a folder.
std::vector<std::string> names_in(const std::string& folder);

/// Runs a change to a folder on rank 0, between barriers.
/// Collective.
void on_first(const Comm& comm, const std::function<void()>& change);

/// Writes a file on rank 0, between barriers.
/// Collective.
void write_on_first(const Comm& comm, const std::string& path, const std::string& content);

}  // namespace weft::test
