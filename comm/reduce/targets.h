// The instruction sets for which Highway compiles each loop. Included before its other headers.
#pragma once

// A processor with SSSE3 but without SSE4 (made before 2008) runs the scalar variant. A variant of
// its own would be a fifth of the longest compile of bp.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#include <hwy/targets.h>
