// What a KV cache asks for before attention itself: new keys written into the cache, rotary embedding of them and of q.
#pragma once

#include "problem/call.hpp"

namespace rapt {

// Bytes of workspace for the rotated copy of q; 0 where nothing is rotated.
size_t rotated_q_bytes(const ForwardCall& call);

// Appends the new keys and values; where rotary embedding is asked for, q is rotated into `workspace` and call.q
// points there afterwards.
void prepare_cache(ForwardCall& call, char* workspace);

}  // namespace rapt
