// The rows of a tuning table that are about other code than the archive has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::archive {

// "line 7: NAME has the checksum 01234567, the table's row is about 89abcdef", for each NAME:CRC32 in rows of `table`
// whose kernel is in `checksums` with another one. A kernel that is not there is no error.
std::vector<std::string> stale_rows(std::string_view table, const std::map<std::string, uint32_t>& checksums);

// Whether the table's line "# checksums by: COMPILER" names this compiler: its rows must then fit the archive.
bool checksums_are_by(std::string_view table, std::string_view compiler);

}  // namespace rapt::archive
