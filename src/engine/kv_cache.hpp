// The steps of a KV cache before attention: appending new keys, and rotary embedding of them and of q.
#pragma once

#include "problem/call.hpp"

namespace rapt {

// Bytes of workspace for the rotated copy of q; 0 without rotary embedding.
size_t rotated_q_bytes(const Call& call);

// Appends the new keys and values. With rotary embedding, rotates q into `workspace` and points call.q there.
void prepare_cache(ForwardCall& call, char* workspace);

}  // namespace rapt
