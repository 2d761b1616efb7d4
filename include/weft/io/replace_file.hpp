#pragma once

#include <string>
#include <string_view>

namespace weft {

/// Replaces the content of a file, or of the file that `path` links to, completely or not at all:
/// writes a temporary file beside it, waits until it is on the disk, and renames it. Throws if that
/// fails; an existing file is then unchanged.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace weft
