#include "trainer/text/json_place.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

const Json& child(const Json& value, const std::string& key) {
  static const Json kNull;
  if (value.is_object()) {
    const auto found = value.find(key);
    return found == value.end() ? kNull : *found;
  }
  std::size_t index = 0;
  const bool is_index =
      std::from_chars(key.data(), key.data() + key.size(), index).ec == std::errc();
  return value.is_array() && is_index && index < value.size() ? value[index] : kNull;
}

}  // namespace

Json parse_json(const std::string& text, const std::string& path) {
  constexpr int kMostLevels = 20;
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
      if (depth > kMostLevels) refuse(concat(path, ": it is nested too deeply"));
      return true;
    });
  } catch (const Json::exception& error) {
    refuse(concat(path, ": it is broken JSON: ", printable(error.what())));
  }
}

JsonPlace JsonPlace::at(std::string_view keys) const {
  JsonPlace place = *this;
  while (!keys.empty()) {
    const std::string key(keys.substr(0, keys.find('.')));
    place.value_ = &child(*place.value_, key);
    place.keys_ += concat(place.keys_.empty() ? "" : ".", key);
    keys.remove_prefix(std::min(key.size() + 1, keys.size()));
  }
  return place;
}

void JsonPlace::refuse_value(const std::string& why) const {
  refuse(concat(*path_, ": ", printable(keys_), " is ",
                value_->is_structured()
                    ? "a list or an object"
                    : quoted_line(value_->dump(-1, ' ', false, Json::error_handler_t::replace)),
                "; ", why));
}

void JsonPlace::require(const Json& only) const {
  if (*value_ != only) refuse_value(concat("bp's tokenizer has only ", only.dump()));
}

void JsonPlace::require_if_given(const Json& only) const {
  if (!value_->is_null()) require(only);
}

bool JsonPlace::flag() const {
  if (!value_->is_boolean()) refuse(concat(*path_, ": ", keys_, " is not true or false"));
  return value_->get<bool>();
}

bool JsonPlace::flag_or(bool otherwise) const { return value_->is_null() ? otherwise : flag(); }

const std::string& JsonPlace::text() const {
  if (!value_->is_string()) refuse_value("it must be a text");
  return value_->get_ref<const std::string&>();
}

std::int32_t JsonPlace::id() const {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > std::uint64_t{kMost}) {
    refuse_value("it must be the id of a token");
  }
  return value_->get<std::int32_t>();
}

const Json& JsonPlace::list() const {
  if (!value_->is_array()) refuse_value("it must be a list");
  return *value_;
}

std::vector<JsonPlace> JsonPlace::items() const {
  std::vector<JsonPlace> items;
  for (std::size_t i = 0; i < list().size(); ++i) items.push_back(at(concat(i)));
  return items;
}

std::vector<JsonPlace> JsonPlace::steps(const char* key) const {
  if (value_->is_null()) return {};
  if (at("type").value() != "Sequence") return {*this};
  std::vector<JsonPlace> steps;
  for (const JsonPlace& item : at(key).items()) {
    const std::vector<JsonPlace> more = item.steps(key);
    steps.insert(steps.end(), more.begin(), more.end());
  }
  return steps;
}

}  // namespace bp::trainer
