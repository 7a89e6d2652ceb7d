#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/core/report.hpp"
#include "cli/inputs/error.hpp"
#include "cli/kernels/disassembly.hpp"
#include "common/atomic_file.hpp"
#include "rapt/rapt.hpp"

namespace rapt::cli {

namespace {

constexpr int kCheckFailed = 1;

struct KernelsOptions {
  std::string archive, kernel, extract;
  bool verify = false, instructions = false, json = false;
};

int list_archives() {
  const std::vector<std::string> paths = Archive::find();
  if (paths.empty())
    throw InputError(
        "no kernel archive in RAPT_KERNEL_PATH or next to the library; `make archives` builds them from the sources");
  TextTable table({"architecture", "kernels", "file", "compiler"});
  for (const std::string& path : paths) {
    const Archive archive(path);
    table.add({archive.arch(), std::to_string(archive.size()), path, archive.compiler()});
  }
  table.print("");
  return 0;
}

std::string dtype_name(rapt_dtype dtype) {
  return fmt::format("{}{}", dtype.code == RAPT_BFLOAT ? "bf" : "fp", static_cast<int>(dtype.bits));
}

int list_kernels(const Archive& archive) {
  fmt::print("{}: {} kernels for {}, by {}\n\n", archive.path(), archive.size(), archive.arch(), archive.compiler());
  const bool amd = archive.size() > 0 && archive.kernel(0).amd != nullptr;
  std::vector<std::string> heads = {"kernel", "block", "waves", "registers", "shared memory"};
  if (amd) heads.insert(heads.end(), {"AGPRs", "SGPRs"});
  heads.emplace_back("occupancy");
  heads.insert(heads.end(), {"P", "bytes", "stored"});
  TextTable table(heads);
  uint64_t bytes = 0, stored = 0;
  for (size_t i = 0; i < archive.size(); ++i) {
    const rapt_kernel k = archive.kernel(i);
    std::vector<std::string> row = {k.name, fmt::format("{}x{}", k.block_q, k.block_k), std::to_string(k.waves),
                                    std::to_string(k.registers), std::to_string(k.shared_memory)};
    if (amd) row.insert(row.end(), {std::to_string(k.amd->agprs), std::to_string(k.amd->sgprs)});
    row.push_back(std::to_string(amd ? k.amd->occupancy : k.nvidia->occupancy));
    row.insert(row.end(), {k.p, std::to_string(k.size), std::to_string(k.stored_size)});
    table.add(row);
    bytes += k.size;
    stored += k.stored_size;
  }
  table.print("");
  fmt::print("\n{} bytes of code, {} stored\n", bytes, stored);
  return 0;
}

// Everything about an archive's kernels, for programs.
int print_json(const Archive& archive) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (size_t i = 0; i < archive.size(); ++i) {
    const rapt_kernel k = archive.kernel(i);
    nlohmann::ordered_json j = {{"name", k.name},
                                {"stage", k.stage},
                                {"operation", k.operation},
                                {"dtype", dtype_name(k.dtype)},
                                {"head_dim", k.head_dim},
                                {"features", k.features},
                                {"block_q", k.block_q},
                                {"block_k", k.block_k},
                                {"waves", k.waves},
                                {"threads", k.threads},
                                {"registers", k.registers},
                                {"shared_memory", k.shared_memory},
                                {"occupancy", k.amd != nullptr ? k.amd->occupancy : k.nvidia->occupancy},
                                {"p", k.p},
                                {"size", k.size},
                                {"stored_size", k.stored_size},
                                {"crc32", fmt::format("{:08x}", k.crc32)}};
    if (k.amd != nullptr) j["agprs"] = k.amd->agprs, j["sgprs"] = k.amd->sgprs;
    all.push_back(std::move(j));
  }
  const nlohmann::ordered_json page = {
      {"arch", archive.arch()}, {"file", archive.path()}, {"compiler", archive.compiler()}, {"kernels", all}};
  fmt::print("{}\n", page.dump(1));
  return 0;
}

void inspect(const Archive& archive, const rapt_kernel& k) {
  const auto line = [](const char* what, const std::string& value) { fmt::print("  {:<14}{}\n", what, value); };
  fmt::print("{} ({})\n", k.name, archive.path());
  line("computes", fmt::format("{}, {}, {}", k.operation, dtype_name(k.dtype), k.features));
  line("head_dim", fmt::format("up to {}", k.head_dim));
  line("block", fmt::format("{} queries by {} keys", k.block_q, k.block_k));
  line("P", fmt::format("{}", k.p));
  line("workgroup",
       fmt::format("{} threads in {} waves, {} bytes of shared memory", k.threads, k.waves, k.shared_memory));
  line("registers", fmt::format("{} per thread, {} spilled", k.registers, k.spills));
  if (k.amd != nullptr)
    line("AMD",
         fmt::format("{} AGPRs, {} SGPRs, occupancy {} waves per SIMD", k.amd->agprs, k.amd->sgprs, k.amd->occupancy));
  if (k.nvidia != nullptr) line("NVIDIA", fmt::format("occupancy {} warps per partition", k.nvidia->occupancy));
  line("symbol", fmt::format("{}, {} bytes of arguments", k.symbol, k.argument_size));
  line("code object", fmt::format("{} bytes, {} stored, CRC32 {:08x}", k.size, k.stored_size, k.crc32));
}

void print_instructions(const Archive& archive, size_t index) {
  const Disassembly d = disassemble(archive.code(index));
  fmt::print("  instructions  {}, by {}\n", d.total, d.tool);
  for (const InstructionClass& c : d.classes)
    if (c.count != 0) fmt::print("    {:>6}  {}\n", c.count, c.name);
}

int verify(const Archive& archive) {
  size_t bad = 0;
  for (size_t i = 0; i < archive.size(); ++i) try {
      archive.code(i);
    } catch (const Error& e) {
      fmt::print("{}\n", e.what());
      ++bad;
    }
  if (bad == 0) fmt::print("{}: the index and all {} kernels are intact\n", archive.path(), archive.size());
  else fmt::print("{}: {} of {} kernels are damaged\n", archive.path(), bad, archive.size());
  return bad == 0 ? 0 : kCheckFailed;
}

size_t index_of(const Archive& archive, const std::string& name) {
  for (size_t i = 0; i < archive.size(); ++i)
    if (archive.kernel(i).name == name) return i;
  throw InputError(fmt::format("{} has no kernel {}; `rapt kernels {}` lists its {}", archive.path(), name,
                               archive.path(), archive.size()));
}

Archive open_archive(const std::string& given) {
  const bool names_a_file = given.find_first_of("/.") != std::string::npos;
  return names_a_file ? Archive(given) : Archive("", given);
}

int kernels_command(const KernelsOptions& o) {
  if (o.archive.empty() && o.json) throw InputError("--json needs an archive");
  if (o.archive.empty()) return list_archives();
  const Archive archive = open_archive(o.archive);
  if (o.kernel.empty()) {
    if (!o.extract.empty()) throw InputError("--extract needs the name of a kernel");
    if (o.instructions) throw InputError("--instructions needs the name of a kernel");
    if (o.json) return print_json(archive);
    return o.verify ? verify(archive) : list_kernels(archive);
  }
  if (o.json) throw InputError("--json lists all kernels of an archive and takes no kernel name");
  const size_t index = index_of(archive, o.kernel);
  inspect(archive, archive.kernel(index));
  if (o.verify) archive.code(index);
  if (o.verify) fmt::print("  intact\n");
  if (o.instructions) print_instructions(archive, index);
  if (!o.extract.empty()) {
    const std::vector<char> code = archive.code(index);
    common::write_file(o.extract, {code.data(), code.size()});
    fmt::print("  written to    {}\n", o.extract);
  }
  return 0;
}

}  // namespace

void add_kernels(CLI::App& app, Action& action) {
  auto options = std::make_shared<KernelsOptions>();
  CLI::App* sub = app.add_subcommand("kernels", "List the GPU kernels of an archive, inspect, verify or extract them");
  sub->add_option(
      "archive", options->archive,
      "An archive's file, or an architecture such as gfx942: its archive in RAPT_KERNEL_PATH or next to the "
      "library. Without it, all archives found there");
  sub->add_option("kernel", options->kernel, "The name of one kernel: what it computes and uses");
  sub->add_flag("--verify", options->verify, "Decompress and check each kernel, or the one named");
  sub->add_flag("--instructions", options->instructions, "Count the kernel's instructions by class (llvm-objdump)");
  sub->add_flag("--json", options->json, "Print the archive's kernels as one JSON object");
  sub->add_option("--extract", options->extract, "Write the kernel's code object, an ELF file, to this file");
  sub->footer(
      "Examples:\n  rapt kernels\n  rapt kernels gfx942\n  rapt kernels gfx942 --verify\n"
      "  rapt kernels gfx942 forward_pipelined.d128.bf16.plain.k32w4 --instructions --extract forward.co");
  sub->callback([options, &action] { action = [options] { return kernels_command(*options); }; });
}

}  // namespace rapt::cli
