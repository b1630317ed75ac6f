// What the calling thread's arithmetic does with denormal numbers: those below 1.2e-38 (f32).
#pragma once

#include <string_view>

namespace bp {

// Returns "keeps denormal numbers", or which of them it takes for zero. A new thread inherits this
// from the thread that starts it.
[[nodiscard]] std::string_view denormals_text();

// How a thread's arithmetic rounds and what it does with denormal numbers, as the control register
// of an x86 processor. On other processors it is empty.
class ArithmeticMode {
 public:
  [[nodiscard]] static ArithmeticMode of_this_thread();
  // Applies it to the calling thread. Returns the mode that the thread had.
  ArithmeticMode apply() const;  // NOLINT(modernize-use-nodiscard)

 private:
  unsigned bits_ = 0;
};

// While it exists, the calling thread computes in `mode`.
class ScopedArithmeticMode {
 public:
  explicit ScopedArithmeticMode(const ArithmeticMode& mode) : before_(mode.apply()) {}
  ~ScopedArithmeticMode() { before_.apply(); }
  ScopedArithmeticMode(const ScopedArithmeticMode&) = delete;
  ScopedArithmeticMode& operator=(const ScopedArithmeticMode&) = delete;

 private:
  ArithmeticMode before_;
};

}  // namespace bp
