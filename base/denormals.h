// What the calling thread's arithmetic does with denormal numbers: those below 1.2e-38 (f32).
#pragma once

#include <string_view>

namespace bp {

// Returns "keeps denormal numbers", or which of them it takes for zero. A new thread inherits this
// from the thread that starts it.
[[nodiscard]] std::string_view denormals_text();

}  // namespace bp
