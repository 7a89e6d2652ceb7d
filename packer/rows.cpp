// Lists the manifest's kernels for an architecture, one per line: "NAME MAKER OPERATION FLAG FLAG ...". CMake builds
// and runs this program when it configures. Usage: rows MANIFEST ARCH
#include <cstdio>
#include <fstream>
#include <iterator>

#include "packer/manifest.hpp"

int main(int argc, char** argv) try {
  using namespace rapt::archive;
  if (argc != 3) throw Error("usage: rows MANIFEST ARCH");
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(std::string(argv[1]) + ": cannot read");
  if (rapt::find_architecture(argv[2]) == nullptr)
    throw Error(std::string(argv[2]) + " is not an architecture that Rapt knows");
  for (const Row& row : read_manifest(argv[1], text)) {
    if (row.arch != argv[2]) continue;
    std::printf("%s %s %s", row.name().c_str(),
                row.by_triton()   ? "triton"
                : row.on_hopper() ? "hopper"
                                  : "c++",
                row.operation.c_str());
    for (const std::string& flag : row.compiler_flags()) std::printf(" %s", flag.c_str());
    std::puts("");
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
