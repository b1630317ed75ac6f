#include "trainer/tasks/gap/gap_config.h"

#include <algorithm>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/json_reading.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

constexpr const char* kHeadKey = "gap_head";

}  // namespace

const std::vector<std::pair<std::string, GapHeadKind>>& gap_head_names() {
  static const std::vector<std::pair<std::string, GapHeadKind>> kNames = {
      {"concat", GapHeadKind::concat},
      {"mul", GapHeadKind::mul},
      {"segment", GapHeadKind::segment}};
  return kNames;
}

std::string name_of(GapHeadKind kind) {
  const auto& names = gap_head_names();
  return std::ranges::find(names, kind, &std::pair<std::string, GapHeadKind>::second)->first;
}

const std::vector<std::string>& gap_answers() {
  static const std::vector<std::string> kAnswers = {"NEITHER", "A", "B"};
  return kAnswers;
}

std::optional<GapHeadKind> gap_head_of(const EncoderSpec& config) {
  const auto key = config.head.find(kHeadKey);
  if (key == config.head.end()) return std::nullopt;
  const Json value = Json::parse(key->second);
  for (const auto& [name, kind] : gap_head_names()) {
    if (value == Json(name)) return kind;
  }
  refuse(concat("'", kHeadKey, "' is ", shown(value), "; it must be concat, mul or segment"));
}

std::map<std::string, std::string> gap_keys(GapHeadKind kind, const EncoderSpec& encoder) {
  std::map<std::string, std::string> keys = label_keys({.labels = gap_answers()}, encoder, "Model");
  keys.emplace(kHeadKey, Json(name_of(kind)).dump());
  return keys;
}

}  // namespace bp::trainer
