// Makes the tensors of a problem: deterministic values, the same on every platform.
#pragma once

#include "cli/core/attention.hpp"

namespace rapt::cli {

enum class InputKind {
  normal,       // standard normal
  outliers,     // normal, but a hundredth of the elements of q and k times 30
  large,        // q and k times 100: logits beyond 1e4
  identical,    // every key row the same, and every query row
  constant_v,   // v is 1 everywhere: so must out be
  masked_rows,  // normal, and the first query sees nothing: -inf in its bias row, zeros in its mask row
};

InputKind parse_input_kind(const std::string& name);  // throws InputError
std::string input_kind_name(InputKind kind);
std::string input_kind_names();  // for --help

// How q, k and v, and with them the results, lie in memory.
struct Layout {
  bool heads_first = false;  // [batch, heads, seqlen, head_dim], where they are neither packed nor paged
  bool padded = false;       // a gap of NaN after each row, so that rows are neither adjacent nor aligned
};

Attention make_inputs(const Problem& problem, InputKind kind, uint64_t seed, Layout layout = {});

// `stream` separates tensors of one seed. From 4 Mi elements on the values repeat, for speed.
void fill_normal(Array& array, uint64_t seed, uint64_t stream);

int64_t input_bytes(const Problem& problem);  // of q, k, v, out, bias and mask

}  // namespace rapt::cli
