// BP_CHECK(condition, text): if the condition is false, bp has a bug. Prints the text and aborts
// the process, in release builds too.
#pragma once

namespace bp {

[[noreturn]] void check_failed(const char* condition, const char* text, const char* file, int line);

}  // namespace bp

#define BP_CHECK(condition, text)                                 \
  do {                                                            \
    if (!(condition)) {                                           \
      ::bp::check_failed(#condition, (text), __FILE__, __LINE__); \
    }                                                             \
  } while (false)
