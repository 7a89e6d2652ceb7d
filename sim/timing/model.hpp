// The model that a forecast comes from.
#pragma once

namespace rapt::sim::timing {

// Its number rises with every change of the code or of a chip's numbers that moves a forecast.
inline constexpr const char* model_name = "time model 7";

}  // namespace rapt::sim::timing
