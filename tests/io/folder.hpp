#pragma once

#include <weft/comm/comm.hpp>

#include <functional>
#include <string>
#include <vector>

namespace weft::test {

/// Runs `body` with the name of a new folder that all ranks see, and removes it afterwards.
/// Collective.
void in_folder(const Comm& comm, const std::function<void(const std::string&)>& body);

std::string content_of(const std::string& path);

/// The names of all that is in a folder, in order.
std::vector<std::string> names_in(const std::string& folder);

/// Rank 0 changes something in a folder when the others are done with it; then all ranks see it.
/// Collective.
void on_first(const Comm& comm, const std::function<void()>& change);

/// Rank 0 writes a file when the others are done with an older one; then all ranks see it.
/// Collective.
void write_on_first(const Comm& comm, const std::string& path, const std::string& content);

}  // namespace weft::test
