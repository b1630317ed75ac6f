#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/config.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();

[[noreturn]] void refuse_value(const char* key, const Json& value, const char* wanted) {
  refuse(concat("'", key, "' is ", shown(value), "; it must be ", wanted));
}

struct ActivationName {
  const char* name;
  Activation value;
};
constexpr ActivationName kActivations[] = {
    {.name = "gelu", .value = Activation::gelu},
    {.name = "gelu_new", .value = Activation::gelu_tanh},
};

// These functions set `value` as the key says.
void take(const Json& found, const char* key, int& value) {
  // Narrowing would change the value.
  const bool fits =
      found.is_number_unsigned()
          ? found.get<std::uint64_t>() <= kMaxInt
          : found.is_number_integer() && found.get<std::int64_t>() >= -std::int64_t{kMaxInt};
  if (!fits) refuse_value(key, found, "a whole number below 2^31");
  value = found.get<int>();
}
void take(const Json& found, const char* key, double& value) {
  if (!found.is_number()) refuse_value(key, found, "a number");
  value = found.get<double>();
}
void take(const Json& found, const char* key, std::optional<double>& value) {
  take(found, key, value.emplace());
}
void take(const Json& found, const char* key, bool& value) {
  if (!found.is_boolean()) refuse(concat(key, " is ", shown(found), "; it must be true or false"));
  value = found.get<bool>();
}
void take(const Json& found, const char* key, Activation& value) {
  const auto* const kind = std::ranges::find_if(
      kActivations, [&](const ActivationName& one) { return found == one.name; });
  if (kind == std::end(kActivations)) refuse_value(key, found, "'gelu' or 'gelu_new'");
  value = kind->value;
}

void never(const Json& json, const char* key) {
  if (is_set(json, key)) refuse(concat(key, " is set, but bp does not support such models"));
}

template <class Number>
Json json_of(Number value) {
  return value;
}
Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json json_of(Activation value) {
  return std::ranges::find(kActivations, value, &ActivationName::value)->name;
}
Json json_of(const ConstantKey& key) {
  return std::visit([](auto value) { return Json(value); }, key.value);
}

// Calls body(key, value) for each key of the family, in which `value` is the spec's own.
template <class Spec, class Body>
void for_keys(const Family& family, Spec& spec, const Body& body) {
  for (const ConfigKey& key : family.keys) {
    std::visit([&](auto member) { body(key, spec.*member); }, key.member);
  }
}

// Returns the keys that the encoder owns.
Json encoder_json(const EncoderSpec& spec) {
  const Family& family = family_of(spec);
  Json json = {{"model_type", spec.family}};
  for (const ConstantKey& key : family.constants) json[key.name] = json_of(key);
  for_keys(family, spec,
           [&](const ConfigKey& key, const auto& value) { json[key.name] = json_of(value); });
  if (family.put_others != nullptr) family.put_others(spec, json);
  return json;
}

const Family& family_in(const Json& json) {
  const Json& type = find(json, "model_type");
  if (type.is_null()) return bert();
  const Family* const family = type.is_string() ? find_family(type.get<std::string>()) : nullptr;
  if (family != nullptr) return *family;
  refuse(concat("model_type is ", shown(type), "; bp supports only ", family_names()));
}

// Returns false for lists and objects in lists or objects, which no head has. They could be nested
// so deeply that dump() runs out of stack.
bool is_flat(const Json& value) {
  return std::ranges::none_of(value, [](const Json& part) { return part.is_structured(); });
}

}  // namespace

EncoderSpec parse_config(const std::string& text) {
  Json json = parse_object(text);
  const Family& family = family_in(json);
  for (const ConstantKey& key : family.constants) {
    using Check = ConstantKey::Check;
    if (key.check == Check::if_there) only(json, key.name, json_of(key));
    if (key.check == Check::always) always(json, key.name, json_of(key));
  }
  for (const char* key :
       {"is_decoder", "add_cross_attention", "pruned_heads", "quantization_config"}) {
    never(json, key);
  }
  for (const char* key : family.unsupported) never(json, key);
  EncoderSpec spec = family.usual;
  for_keys(family, spec, [&](const ConfigKey& key, auto& value) {
    if (key.required && !json.contains(key.name)) {
      refuse(concat("'", key.name, "' is missing"));
    }
    const Json& found = find(json, key.name);
    if (key.required || !found.is_null()) take(found, key.name, value);
  });
  check(spec);
  if (family.take_others != nullptr) family.take_others(json, spec);
  const Json own = encoder_json(spec);
  for (const auto& [key, value] : json.items()) {
    if (!own.contains(key) && is_flat(value)) spec.head.emplace(key, value.dump());
  }
  return spec;
}

EncoderSpec read_config(const std::string& path) { return parse_json_file(path, parse_config); }

// Sorts the keys, but keeps the order inside the head's values.
std::string config_json(const EncoderSpec& config) {
  std::map<std::string, nlohmann::ordered_json> sorted;
  const Json encoder = encoder_json(config);
  for (const auto& [key, value] : encoder.items()) sorted[key] = value;
  for (const auto& [key, value] : config.head) sorted[key] = nlohmann::ordered_json::parse(value);
  nlohmann::ordered_json json;
  for (auto& [key, value] : sorted) json[key] = std::move(value);
  return json.dump(2) + "\n";
}

}  // namespace bp::trainer
