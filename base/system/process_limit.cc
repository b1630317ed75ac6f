#include "base/system/process_limit.h"

#include <sys/resource.h>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr rlim_t kLeastStack = rlim_t{512} << 10;

}  // namespace

void require_large_stacks() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeastStack) return;
  throw Error(ErrorCode::io, concat("a thread may have a stack of ", size_text(limit.rlim_cur),
                                    ", and needs at least ", size_text(kLeastStack),
                                    "; raise the limit (ulimit -s)"));
}

}  // namespace bp
