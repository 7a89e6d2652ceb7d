// The part of HIP's header that AOTriton's headers need.
#pragma once

struct ihipStream_t;
typedef ihipStream_t* hipStream_t;
enum hipError_t { hipSuccess = 0 };
