// The options of a problem, one row each.
#include "problem/options.hpp"

#include <array>
#include <cmath>

#include "base/versioned.hpp"
#include "problem/option_kinds.hpp"

namespace rapt {

namespace {

using namespace option_kinds;

constexpr auto kEvery = KernelSupport::every, kScores = KernelSupport::scores, kGeneral = KernelSupport::general;

constexpr Option of_cache(Option o) {
  o.needs_cache = true;
  return o;
}

constexpr Option causal() {
  Option o = row("causal", "causal|causal-tl", "causal, aligned bottom-right, or top-left (causal-tl)", kEvery);
  o.given = [](const Problem& p) { return p.causal != RAPT_NOT_CAUSAL; };
  o.print = [](const Problem& p) { return std::string(p.causal == RAPT_CAUSAL ? "causal" : "causal-tl"); };
  o.parse = [](Problem& p, const Token& t) {
    if (t.text == "causal") p.causal = RAPT_CAUSAL;
    else if (t.text == "causal-tl") p.causal = RAPT_CAUSAL_TOP_LEFT;
    else return false;
    return true;
  };
  o.check = [](const Problem& p, Violations& bad) {
    if (p.causal < RAPT_NOT_CAUSAL || p.causal > RAPT_CAUSAL_TOP_LEFT)
      bad.add(cat("causal is ", p.causal, ", must be 0 (none), 1 (bottom-right) or 2 (top-left)"));
  };
  o.to_c = [](const Problem& p, rapt_problem& c) { c.causal = p.causal; };
  o.from_c = [](Problem& p, const rapt_problem& c) { p.causal = c.causal; };
  o.from_call = [](Problem& p, const rapt_attention& a) { p.causal = a.causal; };
  return o;
}

constexpr Option window() {
  Option o = row("window", "window=<left>,<right>|window-tl=<left>,<right>",
                 "at most left keys before and right after the query, aligned as causality or top-left; -1: unbounded",
                 kEvery);
  o.given = [](const Problem& p) { return p.has_window; };
  o.print = [](const Problem& p) {
    return cat(p.window_top_left ? "window-tl=" : "window=", p.window_left, ",", p.window_right);
  };
  o.parse = [](Problem& p, const Token& t) {
    const auto top_left = t.after("window-tl=");
    const auto value = top_left ? top_left : t.after("window=");
    if (!value) return false;
    const size_t comma = value->find(',');
    if (comma == std::string_view::npos) t.fail("must be window=left,right");
    p.has_window = true;
    p.window_top_left = top_left.has_value();
    p.window_left = t.integer(value->substr(0, comma));
    p.window_right = t.integer(value->substr(comma + 1));
    return true;
  };
  o.check = [](const Problem& p, Violations& bad) {
    if (p.window_left < -1 || p.window_right < -1)
      bad.add(
          cat("window is ", p.window_left, ",", p.window_right, ", each side must be -1 (unbounded) or at least 0"));
    if (p.window_top_left && p.causal == RAPT_CAUSAL)
      bad.add("window.top_left is 1, must be 0 with bottom-right causality");
  };
  o.to_c = [](const Problem& p, rapt_problem& c) {
    c.has_window = p.has_window;
    c.window_left = p.window_left;
    c.window_right = p.window_right;
    c.window_top_left = p.window_top_left;
  };
  o.from_c = [](Problem& p, const rapt_problem& c) {
    p.has_window = c.has_window != 0;
    p.window_left = p.has_window ? c.window_left : -1;
    p.window_right = p.has_window ? c.window_right : -1;
    p.window_top_left = p.has_window && c.window_top_left != 0;
  };
  o.from_call = [](Problem& p, const rapt_attention& a) {
    if (!a.window) return;
    const rapt_window w = read_versioned("window", a.window);
    p.has_window = true;
    p.window_left = w.left;
    p.window_right = w.right;
    p.window_top_left = w.top_left != 0;
  };
  return o;
}

constexpr Option bias_fp32() {
  Option o = flag<"bias-fp32", &Problem::bias_fp32, &rapt_problem::bias_fp32>(
      "bias_fp32", "the bias is float32, and q is not", kGeneral);
  o.check = [](const Problem& p, Violations& bad) {
    if (p.bias_fp32 && !p.bias_shape) bad.add("bias_fp32 is set, but there is no bias");
    if (p.bias_fp32 && p.dtype == DType::fp32) bad.add("bias_fp32 is set, and q is fp32 too: leave it out");
  };
  return o;
}

constexpr Option softcap() {
  Option o = number<"softcap=<x>", &Problem::softcap, &rapt_problem::softcap>(
      "softcap", "caps logits smoothly at this magnitude: x * tanh(logit / x)", kScores);
  o.check = [](const Problem& p, Violations& bad) {
    if (!(p.softcap >= 0) || std::isinf(p.softcap))
      bad.add(cat("softcap is ", p.softcap, ", must be finite and at least 0"));
  };
  o.from_call = [](Problem& p, const rapt_attention& a) { p.softcap = a.softcap; };
  return o;
}

constexpr Option dropout() {
  Option o = number<"drop=<p>", &Problem::dropout, &rapt_problem::dropout>(
      "dropout", "the probability of dropping an element of P", KernelSupport::dropout);
  o.check = [](const Problem& p, Violations& bad) {
    if (!(p.dropout >= 0 && p.dropout < 1)) bad.add(cat("dropout.probability is ", p.dropout, ", must be in [0, 1)"));
  };
  o.from_call = [](Problem& p, const rapt_attention& a) {
    if (a.dropout) p.dropout = read_versioned("dropout", a.dropout).probability;
  };
  return o;
}

// Plain kernels compute a scale that is positive in float32: gpu/needs.cpp looks at its value.
constexpr Option softmax_scale() {
  Option o =
      row("softmax_scale", "scale=<x>", "multiplies the products of q and k; default 1 / sqrt(head_dim)", kEvery);
  o.given = [](const Problem& p) { return p.softmax_scale.has_value(); };
  o.print = [](const Problem& p) { return cat("scale=", *p.softmax_scale); };
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after("scale=");
    if (value) p.softmax_scale = t.real(*value);
    return value.has_value();
  };
  o.check = [](const Problem& p, Violations& bad) {
    if (p.softmax_scale && !std::isfinite(*p.softmax_scale))
      bad.add(cat("softmax_scale is ", *p.softmax_scale, ", must be finite"));
  };
  o.to_c = [](const Problem& p, rapt_problem& c) {
    c.has_scale = p.softmax_scale.has_value();
    c.softmax_scale = p.softmax_scale.value_or(0);
  };
  o.from_c = [](Problem& p, const rapt_problem& c) {
    if (c.has_scale) p.softmax_scale = c.softmax_scale;
  };
  o.from_call = [](Problem& p, const rapt_attention& a) {
    if (a.softmax_scale) p.softmax_scale = *a.softmax_scale;
  };
  return o;
}

// The pairs themselves are in rapt_problem's array, which c_problem.cpp reads and writes.
constexpr Option varlen() {
  Option o = row("varlen", "varlen=<q>:<k>,...", "packed sequences, seqlen_q:seqlen_k of each", kEvery);
  o.given = [](const Problem& p) { return !p.varlen.empty(); };
  o.print = [](const Problem& p) {
    std::string out;
    for (const auto& [q, k] : p.varlen) out += cat(out.empty() ? "varlen=" : ",", q, ":", k);
    return out;
  };
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after("varlen=");
    if (!value) return false;
    for (size_t at = 0; at <= value->size();) {
      const std::string_view pair = value->substr(at, value->find(',', at) - at);
      const size_t colon = pair.find(':');
      if (colon == std::string_view::npos) t.fail_at(value->substr(at), "expected seqlen_q:seqlen_k");
      p.add_sequence(t.integer(pair.substr(0, colon)), t.integer(pair.substr(colon + 1)));
      at += pair.size() + 1;
    }
    return true;
  };
  o.to_c = [](const Problem&, rapt_problem&) {};
  o.from_c = [](Problem&, const rapt_problem&) {};
  return o;
}

constexpr Option device_lengths() {
  Option o = row("device_lengths", "device-lengths=<total_q>:<total_k>",
                 "packed, with cu_seqlens in device memory, which is not read", kEvery);
  o.given = [](const Problem& p) { return p.device_lengths; };
  o.print = [](const Problem& p) { return cat("device-lengths=", p.total_q, ":", p.total_k); };
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after("device-lengths=");
    if (!value) return false;
    const size_t colon = value->find(':');
    if (colon == std::string_view::npos) t.fail("must be device-lengths=total_q:total_k");
    p.total_q = t.integer(value->substr(0, colon));
    p.total_k = t.integer(value->substr(colon + 1));
    return p.device_lengths = true;
  };
  o.check = [](const Problem& p, Violations& bad) {
    if (p.total_q < 0 || p.total_k < 0)
      bad.add(cat("device_lengths has rows ", p.total_q, ":", p.total_k, ", must be at least 0"));
    if (p.device_lengths && !p.varlen.empty()) bad.add("device_lengths and varlen are both given");
  };
  o.to_c = [](const Problem& p, rapt_problem& c) {
    c.device_lengths = p.device_lengths;
    c.total_q = p.device_lengths ? p.total_q : 0;
    c.total_k = p.device_lengths ? p.total_k : 0;
  };
  o.from_c = [](Problem& p, const rapt_problem& c) {
    p.device_lengths = c.device_lengths != 0;
    p.total_q = c.total_q;
    p.total_k = c.total_k;
  };
  return o;
}

// Only its page size shows that a cache is paged.
constexpr Option cache() {
  Option o = flag<"cache", &Problem::has_cache, &rapt_problem::has_cache>("cache", "k and v are a KV cache", kEvery);
  o.given = [](const Problem& p) { return p.has_cache && p.page == 0; };
  return o;
}

constexpr Option page() {
  Option o = number<"paged=<rows>", &Problem::page, &rapt_problem::page>(
      "page", "k and v are a KV cache in pages of this many rows", kEvery);
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after("paged=");
    if (!value) return false;
    p.page = t.integer(*value);
    if (p.page < 1) t.fail("must be at least 1");
    return p.has_cache = true;
  };
  o.from_c = [](Problem& p, const rapt_problem& c) {
    p.page = c.page;
    p.has_cache = p.has_cache || p.page > 0;
  };
  o.check = [](const Problem& p, Violations& bad) {
    if (p.page < 0) bad.add(cat("page is ", p.page, ", must be at least 0"));
  };
  return of_cache(o);
}

constexpr Option rotary() {
  Option o = number<"rotary=<dim>", &Problem::rotary_dim, &rapt_problem::rotary_dim>(
      "rotary_dim", "rotary embedding of q and the new keys, in their first rotary_dim elements", kEvery);
  o.check = [](const Problem& p, Violations& bad) {
    if (p.rotary_dim < 0 || p.rotary_dim > p.head_dim || p.rotary_dim % 2 != 0)
      bad.add(cat("rotary_dim is ", p.rotary_dim, ", must be even and in 0 to head_dim = ", p.head_dim));
  };
  return of_cache(o);
}

constexpr std::pair<int32_t, std::string_view> kGradients[] = {{gradient::q, "dq"},
                                                               {gradient::k, "dk"},
                                                               {gradient::v, "dv"},
                                                               {gradient::bias, "dbias"},
                                                               {gradient::sink, "dsink"}};

constexpr Option gradients() {
  Option o = row("gradients", "grads=<dq>,<dk>,...", "the results of a backward pass; default dq,dk,dv", kEvery);
  o.given = [](const Problem& p) { return p.gradients != Problem().gradients; };
  o.print = [](const Problem& p) {
    std::string out;
    for (const auto& [bit, name] : kGradients)
      if (p.gradients & bit) out += cat(out.empty() ? "grads=" : ",", name);
    return out;
  };
  o.parse = [](Problem& p, const Token& t) {
    const auto value = t.after("grads=");
    if (!value) return false;
    p.gradients = 0;
    for (size_t at = 0; at <= value->size();) {
      const std::string_view name = value->substr(at, value->find(',', at) - at);
      const auto* found = std::find_if(std::begin(kGradients), std::end(kGradients),
                                       [&](const auto& g) { return g.second == name && g.first > p.gradients; });
      if (found == std::end(kGradients))
        t.fail_at(value->substr(at), "expected some of dq,dk,dv,dbias,dsink, in this order");
      p.gradients |= found->first;
      at += name.size() + 1;
    }
    if (p.gradients == Problem().gradients) t.fail("is the default: leave it out");
    return true;
  };
  o.check = [](const Problem& p, Violations& bad) {
    if (p.gradients <= 0 || p.gradients > (gradient::q | gradient::k | gradient::v | gradient::bias | gradient::sink))
      bad.add(cat("gradients is ", p.gradients, ", must be a sum of rapt_gradient_bits"));
    if ((p.gradients & gradient::bias) && !p.bias_shape) bad.add("gradients has dbias, but there is no bias");
    if ((p.gradients & gradient::sink) && !p.has_sink) bad.add("gradients has dsink, but there is no sink");
  };
  o.to_c = [](const Problem& p, rapt_problem& c) { c.gradients = p.gradients; };
  o.from_c = [](Problem& p, const rapt_problem& c) {
    if (c.gradients != 0) p.gradients = c.gradients;
  };
  return o;
}

constexpr Option alignment() {
  Option o = number<"align=<bytes>", &Problem::alignment, &rapt_problem::alignment>(
      "alignment", "the least alignment in bytes of every tensor's data and rows, if below 16", kEvery);
  o.default_value = "16";
  o.check = [](const Problem& p, Violations& bad) {
    if (p.alignment != 1 && p.alignment != 2 && p.alignment != 4 && p.alignment != 8 && p.alignment != 16)
      bad.add(cat("alignment is ", p.alignment, ", must be 1, 2, 4, 8 or 16"));
  };
  return o;
}

constexpr Option row_stride() {
  Option o = number<"stride=<elements>", &Problem::row_stride, &rapt_problem::row_stride>(
      "row_stride", "the largest distance between rows in elements, if larger than compact rows of all heads", kEvery);
  o.check = [](const Problem& p, Violations& bad) {
    if (p.row_stride < 0) bad.add(cat("row_stride is ", p.row_stride, ", must be at least 0"));
  };
  return o;
}

constexpr std::array kOptions = {
    causal(),
    window(),
    scores<"bias=<shape>", &Problem::bias_shape, &rapt_problem::has_bias, &rapt_problem::bias_shape>(
        "bias", "added to the logits; b1hN: one for all sequences, one per head"),
    bias_fp32(),
    scores<"mask=<shape>", &Problem::mask_shape, &rapt_problem::has_mask, &rapt_problem::mask_shape>(
        "mask", "nonzero attends; shapes as for bias"),
    flag<"alibi", &Problem::has_alibi, &rapt_problem::has_alibi>("alibi", "ALiBi slopes", kScores),
    softcap(),
    flag<"sink", &Problem::has_sink, &rapt_problem::has_sink>("sink", "attention sinks", kEvery),
    dropout(),
    softmax_scale(),
    varlen(),
    device_lengths(),
    cache(),
    page(),
    of_cache(flag<"whole-cache", &Problem::whole_cache, &rapt_problem::whole_cache>(
        "whole_cache", "no seqused_k: the cache's whole capacity is in use", kEvery)),
    of_cache(number<"append=<rows>", &Problem::seqlen_new, &rapt_problem::seqlen_new>(
        "seqlen_new", "new keys appended to the cache first", kEvery)),
    rotary(),
    of_cache(flag<"rotary-interleaved", &Problem::rotary_interleaved, &rapt_problem::rotary_interleaved>(
        "rotary_interleaved", "rotary embedding of pairs (0, 1), (2, 3), ...", kEvery)),
    of_cache(flag<"leftpad", &Problem::has_leftpad, &rapt_problem::has_leftpad>(
        "leftpad", "rows to skip at the front of the cache", kEvery)),
    of_cache(flag<"batch-idx", &Problem::has_batch_idx, &rapt_problem::has_batch_idx>(
        "cache_batch_idx", "each sequence names its row of the cache", kEvery)),
    flag<"det", &Problem::deterministic, &rapt_problem::deterministic>("deterministic",
                                                                       "bitwise the same result every time", kEvery),
    flag<"lse", &Problem::wants_lse, &rapt_problem::wants_lse>("lse", "the forward pass writes lse too", kEvery),
    gradients(),
    alignment(),
    row_stride(),
    flag<"backwards", &Problem::backwards, &rapt_problem::backwards>(
        "backwards", "rows, heads or sequences of a tensor lie at negative strides", kEvery),
};

}  // namespace

std::span<const Option> options() { return kOptions; }

namespace {

// body(row) for each row, as a constant.
template <class Body>
void each_row(const Body& body) {
  [&]<size_t... i>(std::index_sequence<i...>) {
    (body(std::integral_constant<size_t, i>()), ...);
  }(std::make_index_sequence<kOptions.size()>());
}

}  // namespace

void read_options(const rapt_attention& from, Problem& to) {
  each_row([&](auto row) {
    if constexpr (constexpr auto read = kOptions[row].from_call; read != nullptr) read(to, from);
  });
}

void check_options(const Problem& problem, Violations& bad) {
  each_row([&](auto row) { kOptions[row].check(problem, bad); });
}

KernelSupport support_for(const Problem& problem) {
  auto needed = KernelSupport::every;
  each_row([&](auto row) {
    constexpr KernelSupport gpu = kOptions[row].gpu;
    if constexpr (gpu != KernelSupport::every && gpu != KernelSupport::dropout)
      if (kOptions[row].given(problem)) needed = std::max(needed, gpu);
  });
  return needed;
}

std::string broadcast_text(int32_t bits) {
  return cat("b", bits & RAPT_PER_BATCH ? "N" : "1", "h", bits & RAPT_PER_HEAD ? "N" : "1",
             bits & RAPT_PER_QUERY ? "" : "q1");
}

}  // namespace rapt
