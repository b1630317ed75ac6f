#include "launcher/protocol/facts_json.h"

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

using nlohmann::json;

// Only the times and the quota may be fractions. Converting a fraction in any other field to an
// integer is undefined behaviour. The parser also returns integers over 64 bits as fractions.
json parse_facts(const std::string& text) {
  bool may_be_fraction = false;
  return json::parse(text, [&](int depth, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::key) {
      may_be_fraction =
          depth == 1 && (parsed == "clock" || parsed == "seconds" || parsed == "cpu_quota");
    } else if (event == json::parse_event_t::value && parsed.is_number_float() &&
               !may_be_fraction) {
      throw Error(ErrorCode::io,
                  concat("cannot parse the facts of an agent: a number is ", parsed.dump()));
    }
    return true;
  });
}

}  // namespace

// Names and variables may hold any byte. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const HostFacts& facts) {
  return json(facts).dump(-1, ' ', false, json::error_handler_t::replace);
}

HostFacts facts_of(const std::string& text) {
  try {
    return parse_facts(text).get<HostFacts>();
  } catch (const json::exception& error) {
    throw Error(ErrorCode::io, concat("cannot parse the facts of an agent: ", error.what()));
  }
}

}  // namespace bp::launcher
