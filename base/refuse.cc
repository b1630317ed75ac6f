#include "base/refuse.h"

#include "base/text.h"
#include "bp/error.h"

namespace bp {

void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }

void refuse(const std::string& where, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, concat(where, ": ", why));
}

}  // namespace bp
