#include "cli/commands/tensor_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/inputs/error.hpp"
#include "cli/io/tensors.hpp"

namespace rapt::cli {

namespace {

// A value in the form of problem texts, numbers in shortest form.
std::string text_of(const std::string& option, const std::string& value) {
  if (value.find(' ') != std::string::npos)
    throw InputError(fmt::format("--{} is '{}', must have no spaces", option, value));
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? fmt::format("{}", number) : value;
}

// Adds the number options of problems, from the library's own list: --drop P from "drop=<p>", --causal and --causal-tl
// from "causal|causal-tl". The parser of problem texts reads and checks their values.
void add_number_options(CLI::App& command, TensorOptions& o) {
  for (const rapt_option& option : options()) {
    if (!option.is_number) continue;
    const std::string form = option.form;
    const size_t equals = form.find('=');
    if (equals == std::string::npos) {
      CLI::Option* first = nullptr;
      for (size_t at = 0; at <= form.size(); at = std::min(form.find('|', at), form.size()) + 1) {
        const std::string token = form.substr(at, form.find('|', at) - at);
        auto* flag = command.add_flag_callback("--" + token, [&o, token] { o.numbers[token] = token; }, option.help);
        flag->group("Attention");
        if (first) flag->excludes(first);
        else first = flag;
      }
      continue;
    }
    const std::string token = form.substr(0, equals), name = option.name;
    std::string names = "--" + token;
    if (name != token && name.find('_') == std::string::npos) names += ",--" + name;
    const std::string default_value = option.default_value;
    const auto take = [&o, token, default_value](const std::string& value) {
      const std::string text = text_of(token, value);
      if (text != default_value) o.numbers[token] = token + "=" + text;
    };
    command.add_option_function<std::string>(names, take, option.help)
        ->type_name(form.substr(equals + 1))
        ->group("Attention");
  }
}

void set_numbers(const TensorOptions& o, rapt::Attention& attention) {
  std::string text = "b1 hq1 hk1 sq1 sk1 d1 fp32";
  for (const auto& [token, value] : o.numbers) text += " " + value;
  try {
    set_options(attention, Problem::parse(text), o.seed);
  } catch (const Error& e) {  // without the column in a text that the user has not written
    const std::string message = e.what();
    const size_t column = message.find("column ");
    throw InputError(column == std::string::npos ? message : message.substr(message.find(": ", column) + 2));
  }
}

Array load_role(const TensorOptions& o, const std::string& file, const std::string& role) {
  Array a = !file.empty() ? load_tensor(file, role) : load_named(o.input, role);
  const bool packed = !o.cu_seqlens_q.empty();
  const char* const dimensions = packed               ? "3 dimensions: [total, heads, head_dim]"
                                 : o.layout == "bshd" ? "4 dimensions: [batch, seqlen, heads, head_dim]"
                                                      : "4 dimensions: [batch, heads, seqlen, head_dim]";
  if (a.shape().size() != (packed ? 3 : 4))
    throw InputError(fmt::format("{} has shape {}, must have {}", role, shape_text(a.shape()), dimensions));
  if (o.layout == "bhsd") a.swap_dimensions(1, 2);
  return a;
}

Array load_optional(const std::string& file, const std::string& role) {  // absent if no file is given
  if (file.empty()) return {};
  Array a = load_tensor(file, role);
  if (a.shape().size() > 4)
    throw InputError(fmt::format("{} has shape {}, must have at most 4 dimensions", role, shape_text(a.shape())));
  return a;
}

// [.., seqlen_q, seqlen_k] with or without the leading dimensions.
Array load_scores(const std::string& file, const std::string& role) {
  Array a = load_optional(file, role);
  if (a) a.prepend_dimensions(4);
  return a;
}

}  // namespace

void add_tensor_options(CLI::App& command, TensorOptions& o) {
  const std::string file = "FILE";
  auto option = [&](const char* name, std::string& value, const std::string& help) {
    return command.add_option(name, value, help)->type_name(file)->group("Tensors");
  };
  option("--input", o.input, "A .safetensors file with the tensors q, k and v");
  option("--q", o.q, "Queries: FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR");
  option("--k", o.k, "Keys");
  option("--v", o.v, "Values");
  option("--bias", o.bias, "Added to the logits: [batch|1, heads|1, seqlen_q|1, seqlen_k|1]");
  option("--mask", o.mask, "The same shape, bool or uint8: nonzero attends");
  option("--alibi", o.alibi, "ALiBi slopes, fp32: [heads] or [batch, heads]");
  option("--sink", o.sink, "Attention sinks: [heads]");
  option("--cu-seqlens-q", o.cu_seqlens_q,
         "Packed sequences, int32: q is [total, heads, head_dim], and sequence b is its rows cu[b] to cu[b + 1] - 1");
  option("--cu-seqlens-k", o.cu_seqlens_k, "The same for k and v; needs --cu-seqlens-q");
  command.add_option("--layout", o.layout, "Order of dimensions in q, k, v and the output: bshd or bhsd")
      ->check(CLI::IsMember({"bshd", "bhsd"}))
      ->capture_default_str()
      ->group("Tensors");
  add_number_options(command, o);
  command.add_option("--seed", o.seed, "Seed of the dropout and of any random input")
      ->capture_default_str()
      ->group("Attention");
}

void check_are_no_inputs(const std::vector<std::string>& paths, const TensorOptions& o) {
  for (const std::string& spec :
       {o.input, o.q, o.k, o.v, o.bias, o.mask, o.alibi, o.sink, o.cu_seqlens_q, o.cu_seqlens_k}) {
    for (const std::string& path : paths) {
      std::error_code error;  // false for a file that is not there
      if (!spec.empty() && std::filesystem::equivalent(file_of(spec), path, error))
        throw InputError(fmt::format("{}: tensors are read from this file, so it must not be written", path));
    }
  }
}

Attention load_attention(const TensorOptions& o) {
  if (o.input.empty() && (o.q.empty() || o.k.empty() || o.v.empty()))
    throw InputError("give --input FILE.safetensors, or all of --q, --k and --v");
  if (o.cu_seqlens_q.empty() != o.cu_seqlens_k.empty())
    throw InputError("give both --cu-seqlens-q and --cu-seqlens-k, or neither");
  if (!o.cu_seqlens_q.empty() && o.layout != "bshd")
    throw InputError("--layout bhsd is for 4 dimensions; packed tensors are [total, heads, head_dim]");
  Attention a;
  a.q = load_role(o, o.q, "q");
  a.k = load_role(o, o.k, "k");
  a.v = load_role(o, o.v, "v");
  a.bias = load_scores(o.bias, "bias");
  a.mask = load_scores(o.mask, "mask");
  a.alibi_slopes = load_optional(o.alibi, "alibi");
  a.sink = load_optional(o.sink, "sink");
  a.cu_seqlens_q = load_optional(o.cu_seqlens_q, "cu_seqlens_q");
  a.cu_seqlens_k = load_optional(o.cu_seqlens_k, "cu_seqlens_k");
  set_numbers(o, a.options);
  a.seed = o.seed;
  return a;
}

}  // namespace rapt::cli
