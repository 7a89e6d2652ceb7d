#include "cli/commands/tensor_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "cli/core/error.hpp"
#include "cli/io/tensors.hpp"

namespace rapt::cli {

namespace {

Window parse_window(const std::string& text) {
  int64_t left = 0, right = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, left);
  const bool comma = first.ec == std::errc() && first.ptr != end && *first.ptr == ',';
  const auto second = comma ? std::from_chars(first.ptr + 1, end, right) : first;
  if (!comma || second.ec != std::errc() || second.ptr != end)
    throw InputError(fmt::format("--window is '{}', must be LEFT,RIGHT, e.g. 127,0 or -1,0", text));
  return {left, right};
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

std::optional<Array> load_optional(const std::string& file, const std::string& role) {
  if (file.empty()) return std::nullopt;
  Array a = load_tensor(file, role);
  if (a.shape().size() > 4)
    throw InputError(fmt::format("{} has shape {}, must have at most 4 dimensions", role, shape_text(a.shape())));
  return a;
}

// [.., seqlen_q, seqlen_k] with or without the leading dimensions.
std::optional<Array> load_scores(const std::string& file, const std::string& role) {
  std::optional<Array> a = load_optional(file, role);
  if (a) a->prepend_dimensions(4);
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
         "Packed sequences: q is [total, heads, head_dim], sequence b its rows cu[b] to cu[b + 1] - 1; int32");
  option("--cu-seqlens-k", o.cu_seqlens_k, "The same of k and v; given with --cu-seqlens-q");
  command.add_option("--layout", o.layout, "Order of dimensions in q, k, v and the output: bshd or bhsd")
      ->check(CLI::IsMember({"bshd", "bhsd"}))
      ->capture_default_str()
      ->group("Tensors");
  auto* causal = command.add_flag("--causal", o.causal, "Causal, aligned bottom-right")->group("Attention");
  command.add_flag("--causal-tl", o.causal_top_left, "Causal, aligned top-left")->excludes(causal)->group("Attention");
  command.add_option("--window", o.window, "Keys within LEFT before and RIGHT after; -1: unbounded")
      ->type_name("LEFT,RIGHT")
      ->group("Attention");
  command.add_option("--softcap", o.softcap, "Cap logits at this magnitude, smoothly; 0: no cap")->group("Attention");
  command
      .add_option_function<double>(
          "--scale",
          [&o](double value) {
            o.scale = value;
            o.has_scale = true;
          },
          "Softmax scale; otherwise 1 / sqrt(head_dim)")
      ->group("Attention");
  command.add_option("--dropout", o.dropout, "Probability of dropping an attention weight")->group("Attention");
  command.add_option("--seed", o.seed, "Seed of the dropout and of any random input")
      ->capture_default_str()
      ->group("Attention");
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
  a.causal = o.causal ? RAPT_CAUSAL : o.causal_top_left ? RAPT_CAUSAL_TOP_LEFT : RAPT_NOT_CAUSAL;
  a.softcap = o.softcap;
  if (!o.window.empty()) a.window = parse_window(o.window);
  if (o.has_scale) a.scale = o.scale;
  a.dropout = o.dropout;
  a.seed = o.seed;
  return a;
}

}  // namespace rapt::cli
