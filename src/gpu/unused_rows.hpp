// Rows of packed results that belong to no sequence: cu_seqlens end before the tensors do.
#pragma once

#include "gpu/gpu.hpp"

namespace rapt::gpu {

// Sets these rows to 0, in stream order before the kernels, unless a kernel of the pass does it. If cu_seqlens are in
// device memory, it clears all rows.
void clear_unused_rows(const ForwardCall& call, const Pass& pass, const Device& device, Stream stream);
void clear_unused_rows(const BackwardCall& call, const Pass& pass, const Device& device, Stream stream);

}  // namespace rapt::gpu
