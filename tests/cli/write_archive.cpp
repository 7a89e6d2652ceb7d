// Writes a made-up archive for the tests of the command. Usage: write_archive FILE
#include <fstream>

#include "tests/packer/made_up.hpp"

int main(int, char** argv) {
  std::ofstream file(argv[1], std::ios::binary);
  file << rapt::archive::good_archive();
  return file.flush() ? 0 : 1;
}
