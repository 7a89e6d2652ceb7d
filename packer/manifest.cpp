#include "packer/manifest.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace rapt::archive {

namespace {

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (true) {
    const size_t begin = text.find_first_not_of(separators);
    if (begin == text.npos) return parts;
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

int number(const std::string& key, const std::string& value, int least, int most) {
  int result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < least || result > most)
    throw Error(key + " is \"" + value + "\", must be a whole number from " + std::to_string(least) + " to " +
                std::to_string(most));
  return result;
}

std::string word(const std::string& key, const std::string& value, std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* one : allowed) {
    if (value == one) return value;
    list += std::string(list.empty() ? "" : ", ") + one;
  }
  throw Error(key + " is \"" + value + "\", must be one of " + list);
}

struct Setting {
  std::string key, value;  // the key with its operator: "vgprs<="
};

Setting setting(const std::string& token) {
  const size_t equals = token.find('=');
  if (equals == token.npos || equals == 0) throw Error("\"" + token + "\" is not key=value, key<=value or key>=value");
  return {token.substr(0, equals + 1), token.substr(equals + 1)};
}

void set(Row& row, const Setting& s) {
  const auto& [key, value] = s;
  Budget& budget = row.budget;
  if (key == "dtype=") row.dtype = word(key, value, {"fp16", "bf16", "fp32"});
  else if (key == "features=") row.features = word(key, value, {"plain", "scores", "general"});
  else if (key == "p=") row.p = word(key, value, {"nearest", "truncated", "exact"});
  else if (key == "head_dim=") row.head_dim = number(key, value, 1, 512);
  else if (key == "block_k=") row.block_k = number(key, value, 1, 65536);
  else if (key == "waves=") row.waves = number(key, value, 1, 32);
  else if (key == "waves_per_eu=") row.waves_per_eu = number(key, value, 1, 16);
  else if (key == "head_slices=") row.head_slices = number(key, value, 1, 32);
  else if (key == "flags=") row.flags = split(value, ",");
  else if (key == "query_tiles=") row.query_tiles = number(key, value, 1, 4);
  else if (key == "maker=") row.maker = word(key, value, {"triton"});
  else if (key == "block_q=") row.block_q = number(key, value, 16, 256);
  else if (key == "stages=") row.stages = number(key, value, 1, 8);
  else if (key == "mfma=") row.mfma = number(key, value, 16, 32);
  else if (key == "shared=") row.shared_memory = number(key, value, 0, 1 << 20);
  else if (key == "vgprs<=" || key == "registers<=") budget.registers = number(key, value, 0, 1024);
  else if (key == "agprs<=") budget.agprs = number(key, value, 0, 1024);
  else if (key == "sgprs<=") budget.sgprs = number(key, value, 0, 1024);
  else if (key == "sgpr_spills<=") budget.sgpr_spills = number(key, value, 0, 1024);
  else if (key == "lds<=") budget.lds = number(key, value, 0, 1 << 20);
  else if (key == "occupancy>=") budget.occupancy = number(key, value, 1, 64);
  else throw Error("\"" + key + "\" is not a key of a row");
}

void check_keys(const Row& row, const std::set<std::string>& seen) {
  const bool nvidia = row.vendor() == "nvidia", triton = row.by_triton();
  const auto require = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys)
      if (!seen.contains(key)) throw Error("the row has no \"" + std::string(key) + "\"");
  };
  const auto refuse = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys)
      if (seen.contains(key))
        throw Error("\"" + std::string(key) + "\" is no key of rows for " + std::string(row.vendor()) +
                    (triton ? " by Triton" : ""));
  };
  require({"dtype=", "head_dim=", "features=", "block_k=", "waves=", "occupancy>=", "p="});
  if (triton) {
    require({"block_q=", "stages="});
    refuse({"head_slices=", "query_tiles=", "shared="});
  } else {
    require({"waves_per_eu="});
    refuse({"block_q=", "stages=", "mfma=", "sgpr_spills<="});
  }
  if (row.features == "scores" && !(triton && nvidia))
    throw Error("features= is \"scores\", which only Triton's kernels for nvidia have");
  if (nvidia) {
    require({"registers<="});
    if (triton) refuse({"mfma=", "sgpr_spills<="});
    else require({"shared="});
    refuse({"vgprs<=", "agprs<=", "sgprs<=", "lds<="});
  } else {
    require({"vgprs<=", "lds<="});
    refuse({"registers<=", "shared="});
  }
}

Row read_row(const std::string& line) {
  const std::vector<std::string> tokens = split(line, " \t\r");
  if (tokens.size() < 2) throw Error("a row begins with an operation and its architectures");
  Row row;
  row.operation = tokens[0];
  if (row.operation.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos)
    throw Error("the operation \"" + row.operation + "\" must be of small letters, digits and '_'");
  row.arches = split(tokens[1], ",");
  for (const std::string& arch : row.arches)
    if (find_architecture(arch) == nullptr) {
      std::string known;
      for (const Architecture& a : architectures::kTable) known.append(known.empty() ? "" : ", ").append(a.name);
      throw Error(std::string("the architecture \"").append(arch).append("\" is none of ").append(known));
    }
  std::set<std::string> seen;
  for (size_t i = 2; i < tokens.size(); ++i) {
    const Setting s = setting(tokens[i]);
    if (!seen.insert(s.key).second) throw Error("\"" + s.key + "\" is given twice");
    set(row, s);
  }
  for (const std::string& arch : row.arches)
    if (find_architecture(arch)->vendor != row.vendor())
      throw Error(arch + " is not of the vendor " + std::string(row.vendor()) + ", as " + row.arches[0] + " is");
  check_keys(row, seen);
  if (row.waves % row.head_slices != 0)
    throw Error("head_slices= is " + std::to_string(row.head_slices) + ", must divide waves=");
  return row;
}

}  // namespace

std::string_view Row::vendor() const { return find_architecture(arches[0])->vendor; }

bool Row::is_for(std::string_view arch) const { return std::ranges::find(arches, arch) != arches.end(); }

std::string Row::name() const {
  std::string text = operation + ".d" + std::to_string(head_dim) + "." + dtype + "." + features +
                     (by_triton() ? ".tq" + std::to_string(block_q) : ".") + "k" + std::to_string(block_k) + "w" +
                     std::to_string(waves);
  if (stages != 1) text += "n" + std::to_string(stages);
  if (head_slices != 1) text += "s" + std::to_string(head_slices);
  if (query_tiles != 1) text += "q" + std::to_string(query_tiles);
  return text;
}

std::string Row::symbol() const {
  std::string text = name();
  std::ranges::replace(text, '.', '_');
  return text;
}

int Row::queries_per_group(const Architecture& arch) const {
  if (by_triton()) return block_q;
  return waves / head_slices * query_tiles * static_cast<int>(arch.queries_per_wave);
}

namespace {

std::vector<std::string> triton_settings(const Row& row) {
  std::vector<std::string> all = {"dtype=" + row.dtype, "features=" + row.features};
  for (const auto& [key, value] : {std::pair{"head_dim=", row.head_dim},
                                   {"block_q=", row.block_q},
                                   {"block_k=", row.block_k},
                                   {"waves=", row.waves},
                                   {"waves_per_eu=", row.waves_per_eu},
                                   {"stages=", row.stages},
                                   {"mfma=", row.mfma}})
    all.push_back(key + std::to_string(value));
  for (const std::string& flag : row.flags) all.push_back("flags=" + flag);
  return all;
}

}  // namespace

std::vector<std::string> Row::compiler_flags() const {
  if (by_triton()) return triton_settings(*this);
  std::vector<std::string> all = {
      "-DRAPT_HEAD_DIM=" + std::to_string(head_dim),
      "-DRAPT_DTYPE=" + dtype,
      "-DRAPT_GENERAL=" + std::string(features == "general" ? "1" : "0"),
      "-DRAPT_BLOCK_K=" + std::to_string(block_k),
      "-DRAPT_WAVES=" + std::to_string(waves),
      "-DRAPT_WAVES_PER_EU=" + std::to_string(waves_per_eu),
      "-DRAPT_HEAD_SLICES=" + std::to_string(head_slices),
      "-DRAPT_QUERY_TILES=" + std::to_string(query_tiles),
      "-DRAPT_SYMBOL=" + symbol(),
  };
  if (vendor() == "nvidia") all.push_back("-DRAPT_SHARED_BYTES=" + std::to_string(shared_memory));
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

std::vector<Row> read_manifest(const std::string& file, std::string_view text) {
  std::vector<Row> rows;
  std::string errors;
  std::map<std::pair<std::string, std::string>, int> lines;  // (architecture, name) -> line
  const auto fail = [&](int line, const std::string& what) {
    errors += (errors.empty() ? "" : "\n") + file + ":" + std::to_string(line) + ": " + what;
  };
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string content(text.substr(0, std::min(text.find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.find_first_not_of(" \t\r") == content.npos) continue;
    try {
      Row row = read_row(content);
      row.line = line;
      for (const std::string& arch : row.arches) {
        const auto [earlier, is_new] = lines.insert({{arch, row.name()}, line});
        if (!is_new)
          throw Error(row.name() + " is in line " + std::to_string(earlier->second) + " for " + arch + " too");
      }
      rows.push_back(std::move(row));
    } catch (const Error& e) {
      fail(line, e.what());
    }
  }
  if (!errors.empty()) throw Error(errors);
  return rows;
}

}  // namespace rapt::archive
