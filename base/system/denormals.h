// Reads and sets what the calling thread's arithmetic does with denormal numbers: those below
// 1.2e-38 (f32).
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
  void set_for_this_thread() const;
  bool operator==(const ArithmeticMode&) const = default;

 private:
  unsigned bits_ = 0;
};

// While it exists, the calling thread computes in `mode`. Each operation that computes makes one,
// so the register is read once, and written only if the thread has another mode.
class ScopedArithmeticMode {
 public:
  explicit ScopedArithmeticMode(const ArithmeticMode& mode)
      : before_(ArithmeticMode::of_this_thread()), differs_(before_ != mode) {
    if (differs_) mode.set_for_this_thread();
  }
  ~ScopedArithmeticMode() {
    if (differs_) before_.set_for_this_thread();
  }
  ScopedArithmeticMode(const ScopedArithmeticMode&) = delete;
  ScopedArithmeticMode& operator=(const ScopedArithmeticMode&) = delete;

 private:
  const ArithmeticMode before_;
  const bool differs_;
};

}  // namespace bp
