#include "aotriton/call/mask.hpp"

#include "aotriton/base/failure.hpp"

namespace rapt::aot {

namespace {

using namespace aotriton::v3::flash;

bool aligned(int32_t side) { return side == kTopLeft || side == kBottomRight; }

Error check_side(const char* name, int32_t side) {
  if (side >= -1 || aligned(side)) return aotriton::kSuccess;
  return fail(aotriton::kInvalidValue, "%s is %d, must be -1 (unbounded), at least 0, or one of the values for causal",
              name, side);
}

}  // namespace

// AOTriton's window numbers count from key i of query i, and kBottomRight from key i + diagonal. Rapt counts both sides
// of a window from the same key. Padded sequences share one diagonal, so it is added to the number beside kBottomRight.
// In packed sequences both sides count from the sequence's own diagonal, as in FlashAttention.
Error find_mask(const Call& call, int64_t seqlen_q, int64_t seqlen_k, bool packed, Mask& mask) {
  mask.rows_without_keys = packed || seqlen_k == 0;
  if (call.causal == kNotCausal) return aotriton::kSuccess;
  if (call.causal != kWindow)
    return fail(aotriton::kNotSupported, "causal_type is %d, must be 0 (none) or 3 (a window)", call.causal);
  const Window& window = call.window;
  if (const Error e = check_side("window_left", window.left)) return e;
  if (const Error e = check_side("window_right", window.right)) return e;
  const int64_t diagonal = seqlen_k - seqlen_q;
  const bool bottom_right = window.right == kBottomRight;
  const int64_t most_left = packed && bottom_right ? seqlen_k : seqlen_q;
  const int64_t left = aligned(window.left) || window.left >= most_left ? -1 : window.left;
  const int64_t right = window.right == kTopLeft ? 0 : bottom_right || window.right >= seqlen_k ? -1 : window.right;
  mask.rows_without_keys |= (left >= 0 && seqlen_q - left > seqlen_k) || (bottom_right && diagonal < 0);
  mask.left = left;
  if (!bottom_right) {
    mask.right = right;
    mask.top_left = left >= 0 || right >= 0;
    return aotriton::kSuccess;
  }
  mask.causal = RAPT_CAUSAL;
  if (left < 0 || packed) return aotriton::kSuccess;
  mask.left = left + diagonal;
  if (mask.left >= 0) return aotriton::kSuccess;
  return fail(aotriton::kNotSupported, "window_left is %d, must be at least the %lld queries that have no key",
              window.left, static_cast<long long>(-diagonal));
}

}  // namespace rapt::aot
