// rapt-sim opcodes: the table of all opcodes by architecture.
#include "sim/tool/opcode_table.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace rapt::sim::tool {

void add_opcodes(CLI::App& app, Action& action) {
  auto tests = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("opcodes", "Print every opcode by architecture: simulated, tested, or refused");
  sub->add_option("--tests", *tests,
                  "A folder of the tests' records (RAPT_SIM_RECORD_TESTED); without it nothing is tested");
  sub->footer("Example:\n  rapt-sim opcodes --tests record > sim/tests/data/opcodes.md");
  sub->callback([tests, &action] {
    action = [tests] {
      fmt::print("{}", opcode_table(tests->empty() ? Tested() : read_tested(*tests)));
      return 0;
    };
  });
}

}  // namespace rapt::sim::tool
