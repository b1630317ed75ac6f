#include "trainer/model/files/json_reading.h"

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

// A config.json has about 1 KiB, and more with many labels.
constexpr std::uint64_t kMaxFile = 4 << 20;

}  // namespace

Json parse_object(const std::string& text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    refuse(concat("it is broken JSON: ", printable(error.what())));
  }
  if (!json.is_object()) refuse("it is not a JSON object");
  return json;
}

const Json& find(const Json& json, const char* key) {
  static const Json kNull;
  const auto it = json.find(key);
  return it == json.end() ? kNull : *it;
}

bool is_set(const Json& json, const char* key) {
  const Json& found = find(json, key);
  return found != Json(false) && !found.empty();
}

void only(const Json& json, const char* key, const Json& kind) {
  if (!find(json, key).is_null()) always(json, key, kind);
}

void always(const Json& json, const char* key, const Json& kind) {
  const Json& found = find(json, key);
  if (found != kind) refuse(concat(key, " is ", shown(found), "; bp supports only ", shown(kind)));
}

std::string shown(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.is_string() ? in_quotes(value.get<std::string>()) : value.dump();
}

std::string read_json_file(const ByteSource& file) {
  if (file.size() > kMaxFile) {
    refuse(concat("it has ", file.size(), " bytes; the most that bp reads is ", kMaxFile));
  }
  return read_text(file, 0, file.size());
}

}  // namespace bp::trainer
