// Uses more LDS than its row allows.
#include "forward.hip"
