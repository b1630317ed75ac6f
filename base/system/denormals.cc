#include "base/system/denormals.h"

#include <limits>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace bp {
namespace {

#ifdef __SSE__
constexpr unsigned kRaised = 0x3f;  // what has happened, which is not a mode
unsigned read_mode() { return _mm_getcsr() & ~kRaised; }
void write_mode(unsigned bits) { _mm_setcsr(bits); }
#else
unsigned read_mode() { return 0; }
void write_mode(unsigned /*bits*/) {}
#endif

}  // namespace

ArithmeticMode ArithmeticMode::of_this_thread() {
  ArithmeticMode mode;
  mode.bits_ = read_mode();
  return mode;
}

void ArithmeticMode::set_for_this_thread() const { write_mode(bits_); }

// Tries it, so that it needs no register of one kind of processor. The compiler must not compute
// what is volatile.
std::string_view denormals_text() {
  const volatile float least_normal = std::numeric_limits<float>::min();
  const volatile float denormal = std::numeric_limits<float>::denorm_min();
  const volatile float large = 1e20F;
  const volatile float half = least_normal * 0.5F;
  const volatile float scaled = denormal * large;  // a normal number
  const bool loses_results = half == 0.0F;
  const bool loses_operands = scaled == 0.0F;
  if (loses_results && loses_operands) return "takes all denormal numbers for zero";
  if (loses_results) return "makes denormal results zero";
  if (loses_operands) return "takes denormal operands for zero";
  return "keeps denormal numbers";
}

}  // namespace bp
