#pragma once

#include "rapt/rapt.h"

namespace rapt {

rapt_op checked_op(rapt_op op);  // throws Error if it is not an operation

}  // namespace rapt
