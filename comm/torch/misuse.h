// Throws the invalid_argument of a DistributedOptimizer that is misused.
#pragma once

#include "base/text.h"
#include "bp/error.h"

namespace bp {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... why) {
  throw Error(ErrorCode::invalid_argument, concat("DistributedOptimizer: ", why...));
}

}  // namespace bp
