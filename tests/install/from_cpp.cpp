// The same as from_c.c through rapt.hpp, and an error as an exception.
#include <array>
#include <cmath>
#include <cstdio>

#include "rapt/rapt.hpp"

int main() {
  const std::array<float, 1> q = {1.0f};
  const std::array<float, 2> k = {0.0f, 1.0986123f}, v = {4.0f, 8.0f};
  std::array<float, 1> out, lse;

  rapt::Attention attention{.q = {q.data(), rapt::kFp32, {1, 1, 1, 1}},
                            .k = {k.data(), rapt::kFp32, {1, 2, 1, 1}},
                            .v = {v.data(), rapt::kFp32, {1, 2, 1, 1}}};
  rapt::forward(attention, {out.data(), rapt::kFp32, {1, 1, 1, 1}}, rapt::Tensor(lse.data(), rapt::kFp32, {1, 1, 1}));
  std::printf("out %g (7), lse %g (ln 4)\n", out[0], lse[0]);
  if (!(std::abs(out[0] - 7.0f) < 1e-5f && std::abs(lse[0] - std::log(4.0f)) < 1e-6f)) return 1;

  attention.softcap = -1;
  try {
    rapt::forward(attention, {out.data(), rapt::kFp32, {1, 1, 1, 1}});
  } catch (const rapt::Error& error) {
    std::printf("as it should: %s\n", error.what());
    return error.status() == RAPT_INVALID_ARGUMENT ? 0 : 1;
  }
  return 1;
}
