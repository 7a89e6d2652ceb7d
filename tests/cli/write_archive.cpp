// Writes a made-up archive for the tests of the command, for the architecture in its name. Usage: write_archive
// FOLDER/gfx942.rapt or FOLDER/sm_90.rapt
#include <fstream>
#include <string_view>

#include "tests/packer/made_up.hpp"

int main(int, char** argv) {
  using namespace rapt::archive;
  std::ofstream file(argv[1], std::ios::binary);
  file << (std::string_view(argv[1]).ends_with("sm_90.rapt") ? good_nvidia_archive() : good_archive());
  return file.flush() ? 0 : 1;
}
