// The values of a problem's tensors.
#pragma once

#include <string>

namespace rapt::cli {

enum class InputKind {
  normal,         // standard normal
  outliers,       // normal, but a hundredth of the elements of q and k times 30
  large,          // q and k times 100: logits beyond 1e4
  huge,           // q and k are 133,120, or 63,488 in fp16, some rows negative: logits beyond 1e9, equal up to the sign
  identical,      // all rows of q are equal, and all of k
  constant_v,     // v is 1 everywhere, and so must out be
  hostile_bias,   // rows of -inf in the bias, single -inf, large finite values
  masked_rows,    // whole rows masked, or -inf in the bias
  poison_unseen,  // NaN and Inf in every row of k and v that no query attends
  poison_seen,    // NaN and Inf in keys that some queries attend and others do not
};

InputKind parse_input_kind(const std::string& name);  // throws InputError
std::string input_kind_name(InputKind kind);
std::string input_kind_names();  // for --help

}  // namespace rapt::cli
