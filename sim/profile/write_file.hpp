// Replaces a file so that a reader sees the old content or the new, never a part.
#pragma once

#include <string>
#include <string_view>

namespace rapt::sim {

// Written beside it and renamed. Throws std::runtime_error that names the file and the reason; an old file then stays.
void write_file(const std::string& path, std::string_view text);

}  // namespace rapt::sim
