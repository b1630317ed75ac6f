#include "comm/base/text.h"

#include <system_error>

namespace bp {

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

}  // namespace bp
