#include "launcher/agent/facts_json.h"

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {

// Names and variables may hold any byte; what is no UTF-8 is shown as U+FFFD.
std::string json_text(const HostFacts& facts) {
  return nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HostFacts facts_of(const std::string& json) {
  try {
    return nlohmann::json::parse(json).get<HostFacts>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::io, concat("an agent's facts are none: ", error.what()));
  }
}

}  // namespace bp::launcher
