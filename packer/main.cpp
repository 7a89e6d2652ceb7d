// rapt-archive: checks compiled kernels against the manifest and packs them into one <arch>.rapt.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/atomic_file.hpp"
#include "packer/pack.hpp"

namespace {

using namespace rapt::archive;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(path + ": cannot read");
  return text;
}

struct Options {
  std::string manifest, tuning, output;
  Contents contents;
  std::vector<std::string> objects;
};

// The shared memory that Triton's compiler wrote down beside a code object.
int given_shared_memory(const std::vector<Row>& rows, const std::string& name, const std::string& object) {
  if (std::ranges::none_of(rows, [&](const Row& row) { return row.by_triton() && row.name() == name; })) return 0;
  const std::string path = std::filesystem::path(object).replace_extension(".json").string();
  try {
    return nlohmann::json::parse(read_file(path)).at("shared");
  } catch (const nlohmann::json::exception& e) {
    throw Error(path + ": " + e.what());
  }
}

// What nvcc printed while it compiled a kernel of Hopper's.
std::string said(const std::vector<Row>& rows, const std::string& name, const std::string& object) {
  if (std::ranges::none_of(rows, [&](const Row& row) { return row.on_hopper() && row.name() == name; })) return "";
  return read_file(std::filesystem::path(object).replace_extension(".log").string());
}

void run(Options& o) {
  const std::vector<Row> rows = read_manifest(o.manifest, read_file(o.manifest));
  if (!o.tuning.empty()) o.contents.tuning = read_file(o.tuning);
  for (const std::string& path : o.objects) {
    const std::string code = read_file(path);
    const auto* bytes = reinterpret_cast<const std::byte*>(code.data());
    const std::string name = std::filesystem::path(path).stem().string();
    o.contents.objects.push_back(
        {name, {bytes, bytes + code.size()}, given_shared_memory(rows, name, path), said(rows, name, path)});
  }
  const Packed packed = pack(o.manifest, rows, std::move(o.contents));
  rapt::common::write_file(o.output, packed.file);
  std::printf("%s: %zu kernels, %zu bytes\n", o.output.c_str(), o.objects.size(), packed.file.size());
  if (!packed.stale.empty())
    std::printf("%s: %zu kernels in rows of %s are other code than the rows were made with; explain names the rows\n",
                o.output.c_str(), packed.stale.size(), o.tuning.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Checks compiled kernels against the manifest and packs them into one archive.", "rapt-archive");
  Options o;
  app.add_option("--manifest", o.manifest, "The manifest: what each kernel may use")->required();
  app.add_option("--arch", o.contents.arch, "The architecture, such as gfx942")->required();
  app.add_option("--compiler", o.contents.compiler, "The compiler's name, for the index");
  app.add_option("--tuning", o.tuning, "A file whose text goes into the index");
  app.add_option("--output", o.output, "The archive")->required();
  app.add_option("objects", o.objects, "Code objects, each named NAME.co after its row")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    run(o);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
