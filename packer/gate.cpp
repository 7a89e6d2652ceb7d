#include "packer/gate.hpp"

#include "kernels/archive_format.hpp"
#include "kernels/operations.hpp"

namespace rapt::archive {

void at_most(std::vector<std::string>& violations, const char* what, int value, int budget) {
  if (budget >= 0 && value > budget)
    violations.push_back(what + (" is " + std::to_string(value)) + ", the row allows at most " +
                         std::to_string(budget));
}

namespace {

// ptxas only informs of what it does to products that it cannot keep apart: nvcc succeeds.
std::string performance_loss(std::string_view said) {
  constexpr std::string_view kLoss = "Potential Performance Loss";
  const size_t at = said.find(kLoss);
  if (at == said.npos) return "";
  return "the compiler says: " + std::string(said.substr(at, said.find('\n', at) - at));
}

}  // namespace

std::vector<std::string> violations(const Row& row, const Architecture& arch, const Compiled& kernel,
                                    std::string_view said) {
  std::vector<std::string> found;
  const auto equal = [&](const char* what, int value, int expected) {
    if (value != expected)
      found.push_back(what + (" is " + std::to_string(value)) + ", must be " + std::to_string(expected));
  };
  const Resources& r = kernel.resources;
  if (r.target != arch.name)
    found.push_back("the code object is for " + r.target + ", not for " + std::string(arch.name));
  if (r.name != row.symbol())
    found.push_back("the code object's kernel is named " + r.name + ", must be " + row.symbol());
  equal("lanes per wave", r.lanes, static_cast<int>(arch.lanes));
  equal("threads per workgroup", r.max_threads, row.waves * static_cast<int>(arch.lanes));
  if (const Operation* const operation = find_operation(row.operation))
    equal("bytes of arguments", r.argument_size,
          static_cast<int>(operation->argument_size) + (row.by_triton() ? kTritonArguments : 0));
  if (r.shared_memory > static_cast<int>(arch.lds_bytes_per_group))
    found.push_back("shared memory per workgroup is " + std::to_string(r.shared_memory) + ", " +
                    std::string(arch.name) + " has " + std::to_string(arch.lds_bytes_per_group));
  if (std::string loss = performance_loss(said); !loss.empty()) found.push_back(std::move(loss));
  for (std::string& own : kernel.violations(row, arch)) found.push_back(std::move(own));
  return found;
}

}  // namespace rapt::archive
