#include "launcher/serve/say.h"

#include <cstdio>

#include "base/quoted.h"

namespace bp::launcher {

void say(const std::string& text) { std::fprintf(stderr, "bprun: %s\n", printable(text).c_str()); }

}  // namespace bp::launcher
