// The kinds of machine for which Highway makes a variant of each loop. Included before its other
// headers.
#pragma once

// Nobody trains on a processor with SSSE3 but without SSE4 (made before 2008), which takes the
// plain variant. This one would be a fifth of our longest compile.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#include <hwy/targets.h>
