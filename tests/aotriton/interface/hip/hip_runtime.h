// What AOTriton's headers need of HIP's.
#pragma once

struct ihipStream_t;
typedef ihipStream_t* hipStream_t;
enum hipError_t { hipSuccess = 0 };
