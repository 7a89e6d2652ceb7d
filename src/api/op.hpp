#pragma once

#include "rapt/rapt.h"

namespace rapt {

rapt_op checked_op(rapt_op op);  // throws Error where it is no operation

}  // namespace rapt
