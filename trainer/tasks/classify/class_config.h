// The part of config.json that belongs to a classifier's head. Does not use LibTorch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {

inline constexpr double kUsualThreshold = 0.5;

struct ClassConfig {
  std::vector<std::string> labels = {};  // index = class; empty: the model is not a classifier
  std::optional<double> dropout = {};    // before the head; unset: the encoder's
  bool multi_label = false;              // a text has any number of labels, not one
  // Of the labels in the loss; empty: all the same. With several labels a text, a label's weight is
  // that of the texts that have it.
  std::vector<double> weights = {};
  double threshold = kUsualThreshold;  // of several labels, those of this probability are predicted
  bool operator==(const ClassConfig&) const = default;
};

// Throws what label_config_of() throws, and invalid_argument for weights that do not fit.
[[nodiscard]] ClassConfig class_config_of(const EncoderSpec& config);

// Returns the keys of a class for sequence classification, for EncoderSpec::head of such an
// encoder.
[[nodiscard]] std::map<std::string, std::string> head_of(const ClassConfig& config,
                                                         const EncoderSpec& encoder = {});

}  // namespace bp::trainer
