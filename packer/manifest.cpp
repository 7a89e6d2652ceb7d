#include "packer/manifest.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "kernels/operations.hpp"

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
  std::string of;          // the architecture or the type that it is for; "": all of the line

  std::string name() const { return of.empty() ? key : of + ":" + key; }
};

Setting setting(const std::string& token) {
  const size_t equals = token.find('='), colon = token.find(':');
  const size_t begin = colon < equals ? colon + 1 : 0;
  if (equals == token.npos || equals == begin)
    throw Error("\"" + token + "\" is not key=value, key<=value or key>=value");
  return {token.substr(begin, equals + 1 - begin), token.substr(equals + 1), token.substr(0, begin == 0 ? 0 : colon)};
}

void set(Row& row, const Setting& s) {
  const std::string &key = s.key, &value = s.value;
  Budget& budget = row.budget;
  if (key == "features=") row.features = word(key, value, {"plain", "scores", "general"});
  else if (key == "p=") row.p = word(key, value, {"nearest", "truncated", "exact"});
  else if (key == "head_dim=") row.head_dim = number(key, value, 1, 576);
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
  if (row.features == "scores" && !row.operation.ends_with("_hopper"))
    throw Error("features= is \"scores\", which only kernels for Hopper have");
  if (nvidia) {
    require({"registers<="});
    if (triton) refuse({"mfma=", "sgpr_spills<=", "waves_per_eu="});
    else require({"shared="});
    refuse({"vgprs<=", "agprs<=", "sgprs<=", "lds<="});
  } else {
    require({"vgprs<=", "lds<="});
    refuse({"registers<=", "shared="});
  }
}

// The words of a list that a line gives once each.
std::vector<std::string> words(const std::string& key, const std::string& value) {
  std::vector<std::string> all = split(value, ",");
  if (std::set<std::string>(all.begin(), all.end()).size() != all.size())
    throw Error(key + " \"" + value + "\" names one twice");
  return all;
}

std::vector<std::string> read_arches(const std::string& value) {
  std::vector<std::string> arches = words("the architectures", value);
  for (const std::string& arch : arches)
    if (find_architecture(arch) == nullptr) {
      std::string known;
      for (const Architecture& a : architectures::kTable) known.append(known.empty() ? "" : ", ").append(a.name);
      throw Error(std::string("the architecture \"").append(arch).append("\" is none of ").append(known));
    }
  for (const std::string& arch : arches)
    if (const std::string_view first = find_architecture(arches[0])->vendor; find_architecture(arch)->vendor != first)
      throw Error(arch + " is not of the vendor " + std::string(first) + ", as " + arches[0] + " is");
  return arches;
}

std::vector<std::string> read_dtypes(const std::string& key, const std::string& value) {
  std::vector<std::string> dtypes = words(key, value);
  for (const std::string& dtype : dtypes) word(key, dtype, {"fp16", "bf16", "fp32"});
  return dtypes;
}

// A budget of one of the line's architectures or types, in place of the line's.
void check_own(const Setting& s, const std::vector<std::string>& arches, const std::vector<std::string>& dtypes,
               const std::set<std::string>& of_line) {
  if (!s.key.ends_with("<=") && !s.key.ends_with(">="))
    throw Error("\"" + s.name() + "\" is no budget, which alone may be one architecture's or type's");
  if (std::ranges::find(arches, s.of) == arches.end() && std::ranges::find(dtypes, s.of) == dtypes.end())
    throw Error("\"" + s.name() + "\" is for none of the line's architectures and types");
  if (!of_line.contains(s.key)) throw Error("\"" + s.name() + "\" is given, but \"" + s.key + "\" is not");
}

// The rows of a line.
std::vector<Row> read_line(const std::string& line) {
  const std::vector<std::string> tokens = split(line, " \t\r");
  if (tokens.size() < 2) throw Error("a row begins with an operation and its architectures");
  Row common;
  common.operation = tokens[0];
  if (common.operation.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") != std::string::npos)
    throw Error("the operation \"" + common.operation + "\" must be of small letters, digits and '_'");
  const std::vector<std::string> arches = read_arches(tokens[1]);
  std::vector<std::string> dtypes;
  std::vector<Setting> own;
  std::set<std::string> seen;
  for (size_t i = 2; i < tokens.size(); ++i) {
    const Setting s = setting(tokens[i]);
    if (!seen.insert(s.name()).second) throw Error("\"" + s.name() + "\" is given twice");
    if (!s.of.empty()) own.push_back(s);
    else if (s.key == "dtype=") dtypes = read_dtypes(s.key, s.value);
    else set(common, s);
  }
  common.arch = arches[0];
  check_keys(common, seen);
  for (const Setting& s : own) check_own(s, arches, dtypes, seen);
  if (common.waves % common.head_slices != 0)
    throw Error("head_slices= is " + std::to_string(common.head_slices) + ", must divide waves=");
  if (common.on_hopper() && (arches != std::vector<std::string>{"sm_90"} || common.waves % 4 != 0 || common.waves < 8))
    throw Error(common.operation + " is for sm_90 alone, and has groups of 4 waves, at least 2");
  std::vector<Row> rows;
  for (const std::string& arch : arches)
    for (const std::string& dtype : dtypes) {
      Row& row = rows.emplace_back(common);
      row.arch = arch;
      row.dtype = dtype;
      std::set<std::string> given;
      for (const Setting& s : own) {
        if (s.of != arch && s.of != dtype) continue;
        if (!given.insert(s.key).second) throw Error("\"" + s.key + "\" is given for " + arch + " and for " + dtype);
        set(row, s);
      }
    }
  return rows;
}

}  // namespace

std::string_view Row::vendor() const { return find_architecture(arch)->vendor; }

bool Row::on_hopper() const {
  const Operation* const known = find_operation(operation);
  return known != nullptr && known->hopper;
}

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
  if (on_hopper()) return (waves - 4) * static_cast<int>(arch.queries_per_wave);
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
      "-DRAPT_GENERAL=" + std::string(features == "plain" ? "0" : "1"),
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
      for (Row& row : read_line(content)) {
        row.line = line;
        const auto [earlier, is_new] = lines.insert({{row.arch, row.name()}, line});
        if (!is_new)
          throw Error(row.name() + " is in line " + std::to_string(earlier->second) + " for " + row.arch + " too");
        rows.push_back(std::move(row));
      }
    } catch (const Error& e) {
      fail(line, e.what());
    }
  }
  if (!errors.empty()) throw Error(errors);
  return rows;
}

}  // namespace rapt::archive
