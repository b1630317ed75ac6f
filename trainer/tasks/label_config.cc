#include "trainer/tasks/label_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/input_error.h"
#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kMaxLabels = 100'000;
constexpr const char* kDropout = "classifier_dropout";

// Returns null if the key is absent.
Json value_of(const EncoderSpec& config, const char* key) {
  const auto found = config.head.find(key);
  return found == config.head.end() ? Json() : Json::parse(found->second);
}

// Reads {"0": "bad", "1": "good"}, in any order.
std::vector<std::string> labels_by_id(const Json& names) {
  std::vector<std::string> labels;
  for (std::size_t id = 0; id < names.size(); ++id) {
    const auto name = names.find(std::to_string(id));
    if (name == names.end()) refuse(concat("id2label has no label ", id));
    if (!name->is_string()) refuse(concat("id2label's ", id, " is ", shown(*name), ", not a name"));
    labels.push_back(name->get<std::string>());
  }
  return labels;
}

// Reads {"bad": 0, "good": 1}, in any order.
std::vector<std::string> labels_by_name(const Json& ids) {
  std::vector<std::string> labels(ids.size());
  std::vector<bool> seen(ids.size(), false);
  for (const auto& [name, id] : ids.items()) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < labels.size() &&
                      !seen[id.get<std::size_t>()];
    if (!fits) {
      refuse(concat("label2id gives ", in_quotes(name), " the number ", shown(id),
                    "; each of 0 to ", ids.size() - 1, " must occur once"));
    }
    labels[id.get<std::size_t>()] = name;
    seen[id.get<std::size_t>()] = true;
  }
  return labels;
}

// Returns the name of the model's class in transformers, or "".
std::string architecture_of(const EncoderSpec& config) {
  const Json names = value_of(config, "architectures");
  const bool named = names.is_array() && !names.empty() && names.front().is_string();
  return named ? names.front().get<std::string>() : "";
}

// transformers does not write the labels of a model that has two, LABEL_0 and LABEL_1.
std::vector<std::string> unwritten_labels(const EncoderSpec& config) {
  const std::string name = architecture_of(config);
  const bool labels =
      name.ends_with("ForSequenceClassification") || name.ends_with("ForTokenClassification");
  return labels ? std::vector<std::string>{"LABEL_0", "LABEL_1"} : std::vector<std::string>{};
}

std::vector<std::string> labels_of(const EncoderSpec& config) {
  const Json by_id = value_of(config, "id2label");
  const Json by_name = value_of(config, "label2id");
  for (const Json* map : {&by_id, &by_name}) {
    if (!map->is_null() && !map->is_object()) refuse("id2label or label2id is not an object");
    if (map->size() > kMaxLabels) {
      refuse(concat("it has ", map->size(), " labels; the largest number that bp supports is ",
                    kMaxLabels));
    }
  }
  if (by_id.is_null() && by_name.is_null()) return unwritten_labels(config);
  std::vector<std::string> labels = by_id.empty() ? labels_by_name(by_name) : labels_by_id(by_id);
  std::vector<std::string> sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse(concat("two labels are called ", in_quotes(*twice)));
  return labels;
}

std::optional<double> dropout_of(const EncoderSpec& config) {
  const Json value = value_of(config, kDropout);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number()) {
    refuse(concat("'classifier_dropout' is ", shown(value), "; it must be a number"));
  }
  const double share = value.get<double>();
  if (!(share >= 0 && share < 1)) {
    refuse(concat("classifier_dropout is ", share, "; it must be at least 0 and below 1"));
  }
  return share;
}

}  // namespace

LabelConfig label_config_of(const EncoderSpec& config) {
  return {labels_of(config), dropout_of(config)};
}

bool predicts_number(const EncoderSpec& config) {
  const Json problem = value_of(config, "problem_type");
  if (!problem.is_null()) return problem == "regression";
  return architecture_of(config).ends_with("ForSequenceClassification") &&
         labels_of(config).size() == 1;
}

std::map<std::string, std::string> label_keys(const LabelConfig& config,
                                              const EncoderSpec& encoder,
                                              std::string_view purpose) {
  nlohmann::ordered_json by_id = nlohmann::ordered_json::object();
  nlohmann::ordered_json by_name = nlohmann::ordered_json::object();
  for (std::size_t id = 0; id < config.labels.size(); ++id) {
    by_id[std::to_string(id)] = config.labels[id];
    by_name[config.labels[id]] = id;
  }
  std::map<std::string, std::string> keys = {
      {"architectures", Json::array({class_name(encoder, purpose)}).dump()},
      {kDropout, config.dropout ? Json(*config.dropout).dump() : "null"},
      {"id2label", by_id.dump()},
      {"label2id", by_name.dump()}};
  if (key_of(encoder, &EncoderSpec::pooled_dropout) == kDropout) keys.erase(kDropout);
  return keys;
}

std::vector<int> map_labels(const std::vector<std::string>& names,
                            const std::vector<std::string>& known,
                            const std::string& what) {
  std::vector<int> map;
  for (const std::string& label : names) {
    const auto found = std::find(known.begin(), known.end(), label);
    if (found == known.end()) {
      throw InputError(65,
                       concat("the data has the ", what, " '", label, "', which the model lacks"),
                       concat("the model's ", what, "s are ", shown_labels(known)));
    }
    map.push_back(static_cast<int>(found - known.begin()));
  }
  return map;
}

std::string shown_labels(const std::vector<std::string>& labels) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(labels.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + quoted_line(labels[i]);
  }
  return labels.size() > kMost ? concat(text, ", ... (", labels.size(), ")") : text;
}

}  // namespace bp::trainer
