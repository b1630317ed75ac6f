// How often a classifier is right about one class, at each of several thresholds.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

// The thresholds have equal distances from 0 to 1. A sample counts as predicted if the probability
// of the class is at least the threshold. Each list has one number for each threshold.
struct PrCurve {
  std::string name = {};  // of the class
  std::vector<float> true_positives = {};
  std::vector<float> false_positives = {};
  std::vector<float> true_negatives = {};
  std::vector<float> false_negatives = {};
};

}  // namespace bp::trainer
