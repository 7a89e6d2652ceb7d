#include "aotriton/call/mask.hpp"

#include "aotriton/base/failure.hpp"

namespace rapt::aot {

namespace {

using aotriton::v3::flash::kBottomRight, aotriton::v3::flash::kTopLeft;

bool aligned(int32_t side) { return side == kTopLeft || side == kBottomRight; }

Error check_side(const char* name, int32_t side) {
  if (side >= -1 || aligned(side)) return aotriton::kSuccess;
  return fail(aotriton::kInvalidValue, "%s is %d, must be -1 (unbounded), at least 0, or one of the values for causal",
              name, side);
}

}  // namespace

// AOTriton counts from the query's own number, as Rapt does with RAPT_CAUSAL_TOP_LEFT; Rapt's other windows count from
// key i + seqlen_k - seqlen_q, which is another number in each packed sequence.
Error find_mask(const std::optional<Window>& window, int64_t seqlen_q, int64_t seqlen_k, bool packed, Mask& mask) {
  mask.rows_without_keys = packed || seqlen_k == 0;
  if (!window) return aotriton::kSuccess;
  if (const Error e = check_side("window_left", window->left)) return e;
  if (const Error e = check_side("window_right", window->right)) return e;
  const int64_t diagonal = seqlen_k - seqlen_q;
  const bool bottom_right = window->right == kBottomRight;
  const int64_t left = aligned(window->left) || window->left >= seqlen_q ? -1 : window->left;
  const int64_t right = window->right == kTopLeft ? 0 : bottom_right || window->right >= seqlen_k ? -1 : window->right;
  mask.rows_without_keys |= (left >= 0 && seqlen_q - left > seqlen_k) || (bottom_right && diagonal < 0);
  const bool top_left = !bottom_right && (right == 0 || (left < 0 && right < 0));
  if (top_left || left < 0) mask.left = left;
  else mask.left = left + diagonal;
  if (bottom_right) mask.causal = RAPT_CAUSAL;
  else if (right == 0) mask.causal = RAPT_CAUSAL_TOP_LEFT;
  else if (right > 0) mask.right = right - diagonal;
  const bool counts_from_diagonal = !top_left && (left >= 0 || right > 0);
  if (!counts_from_diagonal) return aotriton::kSuccess;
  const bool expressible = !packed && (left < 0 || mask.left >= 0) && (right <= 0 || mask.right >= 0);
  if (expressible) return aotriton::kSuccess;
  return fail(
      aotriton::kNotSupported,
      "window_left is %d and window_right %d, which for %s sequences of %lld queries and %lld keys Rapt does not "
      "have: window_right must be 0 or causal",
      window->left, window->right, packed ? "packed" : "padded", static_cast<long long>(seqlen_q),
      static_cast<long long>(seqlen_k));
}

}  // namespace rapt::aot
