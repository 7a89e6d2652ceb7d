#include "sim/tests/support/instructions/tested.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <unistd.h>

namespace rapt::sim::test {
namespace {

class Record {
 public:
  Record() {
    if (const char* folder = std::getenv("RAPT_SIM_RECORD_TESTED"))
      file_ = std::string(folder) + "/" + std::to_string(getpid()) + ".txt";
  }
  ~Record() {
    if (file_.empty()) return;
    std::ofstream file(file_);
    for (const auto& [arch, mnemonic] : run_) file << name(arch) << ' ' << mnemonic << '\n';
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  void add(Arch arch, std::string_view mnemonic) {
    if (!file_.empty()) run_.emplace(arch, mnemonic);
  }

 private:
  std::string file_;
  std::set<std::pair<Arch, std::string>> run_;
};

}  // namespace

void record_tested(std::string_view mnemonic, Arch arch) {
  static Record record;
  record.add(arch, mnemonic);
}

}  // namespace rapt::sim::test
