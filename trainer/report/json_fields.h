// Writes and reads records as JSON objects by their fields(json, record) (base/fields.h). Both
// archives have the same functions:
//
//   json("steps", it.steps);            every file has this key
//   json.added("skipped", it.skipped);  files of older versions lack it
//   json.number("loss", it.loss);       the same of a number, which then is not finite
//   json.maybe("why", it.why);          it is left out if it has the value of a new object
//   json.group("train", [&](auto& train) { ... });  fields in an object of their own
//   json.rest(it.scores);               names and numbers beside the other keys
//   json.plain("ids", it.ids);          as nlohmann::json has it: numbers may be below 0
//   json.as("sums", it.sums, to, from);  in the form that to() returns and from() takes
//
// A number that is not finite becomes null.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/report/json.h"

namespace bp::trainer {

// A measured time or rate, which is rounded to 1 / `steps`.
template <class Double>
struct Rounded {
  Double& value;
  double steps = 1000;
};
template <class Double>
Rounded(Double&) -> Rounded<Double>;
template <class Double>
Rounded(Double&, double) -> Rounded<Double>;

// A number with ".0" if it is whole, and always finite.
template <class Double>
struct Real {
  Double& value;
};
template <class Double>
Real(Double&) -> Real<Double>;

template <class Value>
using Named = std::vector<std::pair<std::string, Value>>;

class JsonWriter {
 public:
  template <class Value>
  void operator()(const std::string& key, const Value& value) {
    put(json_[key], value);
    note(key, value);
  }
  template <class Value>
  void added(const char* key, const Value& value) {
    (*this)(key, value);
  }
  template <class Value>
  void number(const char* key, const Value& value) {
    (*this)(key, value);
  }
  template <class Value>
  void maybe(const char* key, const Value& value) {
    if (!is_new(value)) (*this)(key, value);
  }
  template <class Value>
  void maybe(const char* key, const Value& value, const std::type_identity_t<Value>& usual) {
    if (value != usual) (*this)(key, value);
  }
  template <class Value, class To, class From>
  void as(
      const char* key, const Value& value, const To& to, const From& /*from*/, bool always = true) {
    if (always || !value.empty()) (*this)(key, to(value));
  }
  template <class Fields>
  void group(const char* key, const Fields& fields_of, bool present = true) {
    if (!present) return;
    JsonWriter inner;
    fields_of(inner);
    json_[key] = std::move(inner.json_);
  }
  void rest(const Named<double>& values) {
    for (const auto& [key, value] : values) (*this)(key, value);
  }
  template <class Value>
  void plain(const char* key, const Value& value) {
    json_[key] = value;
  }

  [[nodiscard]] Json take() { return std::move(json_); }
  // Names the numbers that are not finite in a last key, "not_finite".
  [[nodiscard]] Json take_noted() {
    if (!not_finite_.empty()) json_["not_finite"] = not_finite_;
    return take();
  }

 private:
  template <class Value>
  static bool is_new(const Value& value) {
    return value == Value();
  }
  template <class Value>
  static bool is_new(const std::optional<Value>& value) {
    return !value;
  }
  template <class Value>
  static bool is_new(const std::vector<Value>& value) {
    return value.empty();
  }
  template <class Double>
  static bool is_new(const Real<Double>& value) {
    return value.value == 0;
  }

  template <class Value>
  static void put(Json& json, const Value& value) {
    if constexpr (std::is_same_v<Value, double>) {
      json = trainer::number(value);
    } else if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      json = value;
    } else {
      JsonWriter inner;
      fields(inner, value);
      json = inner.take();
    }
  }
  template <class Double>
  static void put(Json& json, const Rounded<Double>& value) {
    json = trainer::number(std::round(value.value * value.steps) / value.steps);
  }
  template <class Double>
  static void put(Json& json, const Real<Double>& value) {
    json = value.value;
  }
  template <class Value>
  static void put(Json& json, const std::optional<Value>& value) {
    put(json, *value);
  }
  template <class Value>
  static void put(Json& json, const std::vector<Value>& values) {
    json = Json::array();
    for (const Value& value : values) put(json.emplace_back(), value);
  }
  template <class Value>
  static void put(Json& json, const Named<Value>& values) {
    json = Json::object();
    for (const auto& [key, value] : values) put(json[key], value);
  }
  static void put(Json& json, const EvaluationSummary& summary) { put(json, summary.scores); }

  void note(const std::string& key, double value) {
    if (std::isfinite(value)) return;
    not_finite_[key] = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  template <class Double>
  void note(const std::string& key, const Rounded<Double>& value) {
    note(key, value.value);
  }
  void note(const std::string& key, const Named<double>& values) {
    for (const auto& [name, value] : values) note(concat(key, '.', name), value);
  }
  template <class Value>
  void note(const std::string& /*key*/, const Value& /*value*/) {}

  Json json_ = Json::object();
  Json not_finite_;
};

// Throws Json::exception or Error (invalid_argument) if a value is not what the field needs.
class JsonReader {
 public:
  explicit JsonReader(const Json& json) : json_(json) {}

  template <class Value>
  void operator()(const char* key, Value&& value) {
    keys_.emplace_back(key);
    get(json_.at(key), value, key);
  }
  template <class Value>
  void added(const char* key, Value&& value) {
    if (json_.contains(key)) (*this)(key, value);
  }
  template <class Value>
  void number(const char* key, Value&& value) {
    keys_.emplace_back(key);
    static const Json kNull;
    get(json_.contains(key) ? json_.at(key) : kNull, value, key);
  }
  template <class Value>
  void maybe(const char* key, Value&& value) {
    added(key, value);
  }
  template <class Value>
  void maybe(const char* key, Value& value, const Value& /*usual*/) {
    added(key, value);
  }
  template <class Value, class To, class From>
  void as(const char* key, Value& value, const To& to, const From& from, bool always = true) {
    if (!always && !json_.contains(key)) return;
    auto read = to(value);
    (*this)(key, read);
    value = from(read);
  }
  template <class Fields>
  void group(const char* key, const Fields& fields_of, bool /*present*/) {
    if (json_.contains(key)) group(key, fields_of);
  }
  template <class Fields>
  void group(const char* key, const Fields& fields_of) {
    JsonReader inner(json_.at(key));
    fields_of(inner);
  }
  template <class Value>
  void plain(const char* key, Value& value) {
    json_.at(key).get_to(value);
  }
  // Reads all keys that have not been read.
  void rest(Named<double>& values) {
    for (const auto& [key, value] : json_.items()) {
      if (key == kNotFinite || std::ranges::find(keys_, key) != keys_.end()) continue;
      get(value, values.emplace_back(key, 0).second, key);
    }
  }

 private:
  static constexpr const char* kNotFinite = "not_finite";

  template <class Value>
  void get(const Json& json, Value& value, const std::string& key) const {
    if constexpr (std::is_same_v<Value, double>) {
      value = json.is_null() ? not_finite(key) : json.get<double>();
    } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      value = static_cast<Value>(count_of(json, key));
    } else if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, std::string>) {
      value = json.get<Value>();
    } else {
      JsonReader inner(json);
      fields(inner, value);
    }
  }
  template <class Double>
  void get(const Json& json, Rounded<Double>& value, const std::string& key) const {
    get(json, value.value, key);
  }
  template <class Double>
  void get(const Json& json, Real<Double>& value, const std::string& /*key*/) const {
    value.value = json.get<double>();
  }
  template <class Value>
  void get(const Json& json, std::optional<Value>& value, const std::string& key) const {
    get(json, value.emplace(), key);
  }
  template <class Value>
  void get(const Json& json, std::vector<Value>& values, const std::string& key) const {
    for (const Json& entry : json.get_ref<const Json::array_t&>()) {
      get(entry, values.emplace_back(), key);
    }
  }
  template <class Value>
  void get(const Json& json, Named<Value>& values, const std::string& key) const {
    for (const auto& [name, entry] : json.get_ref<const Json::object_t&>()) {
      get(entry, values.emplace_back(name, Value()).second, concat(key, '.', name));
    }
  }
  void get(const Json& json, EvaluationSummary& summary, const std::string& key) const {
    get(json, summary.scores, key);
  }

  double not_finite(const std::string& key) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto found = json_.find(kNotFinite);
    const std::string what = found == json_.end() ? "nan" : found->value(key, "nan");
    return what == "inf" ? kInfinity : what == "-inf" ? -kInfinity : std::nan("");
  }

  const Json& json_;
  std::vector<std::string_view> keys_;  // that have been read
};

template <class Record>
[[nodiscard]] Json json_of(const Record& record) {
  JsonWriter json;
  fields(json, record);
  return json.take();
}

template <class Record>
void read_fields(const Json& json, Record& record) {
  JsonReader reader(json);
  fields(reader, record);
}

}  // namespace bp::trainer
