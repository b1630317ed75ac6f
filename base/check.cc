#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace bp {

void check_failed(const char* condition, const char* text, const char* file, int line) {
  std::fprintf(stderr, "bp: bug: %s (%s is false at %s:%d). Please report it.\n", text, condition,
               file, line);
  std::abort();
}

}  // namespace bp
