#include "trainer/tasks/classify/class_config.h"

#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

constexpr const char* kWeights = "bp_class_weights";
constexpr const char* kThreshold = "bp_threshold";
constexpr const char* kProblem = "problem_type";
constexpr const char* kOneLabel = R"("single_label_classification")";
constexpr const char* kSeveralLabels = R"("multi_label_classification")";

std::vector<double> weights_of(const EncoderSpec& config) {
  const auto found = config.head.find(kWeights);
  if (found == config.head.end()) return {};
  const Json values = Json::parse(found->second);
  if (!values.is_array()) {
    refuse(concat("'", kWeights, "' is ", shown(values), "; it must be a list"));
  }
  std::vector<double> weights;
  for (const Json& value : values) {
    const bool valid = value.is_number() && value.get<double>() > 0;
    if (!valid) refuse(concat("'", kWeights, "' has ", shown(value), "; it must be above 0"));
    weights.push_back(value.get<double>());
  }
  return weights;
}

double threshold_of(const EncoderSpec& config) {
  const auto found = config.head.find(kThreshold);
  if (found == config.head.end()) return kUsualThreshold;
  const Json value = Json::parse(found->second);
  const bool valid = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1;
  if (!valid) refuse(concat("'", kThreshold, "' is ", shown(value), "; it must be 0 to 1"));
  return value.get<double>();
}

bool has_several_labels(const EncoderSpec& config) {
  const auto found = config.head.find(kProblem);
  return found != config.head.end() && found->second == kSeveralLabels;
}

}  // namespace

ClassConfig class_config_of(const EncoderSpec& config) {
  const LabelConfig own = label_config_of(config);
  const std::vector<double> weights = weights_of(config);
  if (!weights.empty() && weights.size() != own.labels.size()) {
    refuse(concat("it has ", weights.size(), " weights for ", own.labels.size(), " labels"));
  }
  return {own.labels, own.dropout, has_several_labels(config), weights, threshold_of(config)};
}

std::map<std::string, std::string> head_of(const ClassConfig& config, const EncoderSpec& encoder) {
  std::map<std::string, std::string> keys =
      label_keys({config.labels, config.dropout}, encoder, "ForSequenceClassification");
  keys.emplace(kProblem, config.multi_label ? kSeveralLabels : kOneLabel);
  if (config.multi_label) keys.emplace(kThreshold, Json(config.threshold).dump());
  if (!config.weights.empty()) keys.emplace(kWeights, Json(config.weights).dump());
  return keys;
}

}  // namespace bp::trainer
