// The reader of line number programs: any bytes give a table or a LoadError.
#include "sim/loader/code_object.hpp"
#include "sim/profile/line_table.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const rapt::sim::LineTable table(bytes, bytes, bytes);
    for (std::uint64_t address = 0; address < 0x4000; address += 4) {
      const rapt::sim::SourceLine* line = table.find(address);
      if (line && (line->line == 0 || line->file >= table.files().size())) std::abort();
    }
  } catch (const rapt::sim::LoadError&) {
  }
  return 0;
}
