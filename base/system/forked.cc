#include "base/system/forked.h"

#include <pthread.h>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

// Process-wide state, as the whole process is forked. Only a child counts, while it has one thread.
unsigned forks_so_far = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
const int kAsked = ::pthread_atfork(nullptr, nullptr, [] { ++forks_so_far; });

}  // namespace

unsigned fork_count() { return forks_so_far; }

void ProcessMark::refuse(std::string_view called, std::string_view object) {
  throw Error(ErrorCode::invalid_argument,
              concat(called, ": this process was forked from the one that made the ", object,
                     ", and only that one can use it (let the child execute a program, or leave it "
                     "to the parent to call bp)"));
}

}  // namespace bp
