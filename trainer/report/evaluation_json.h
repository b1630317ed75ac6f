// An evaluation as JSON, as summary.json and the state of a checkpoint store it.
#pragma once

#include <limits>

#include "trainer/report/evaluation_summary.h"
#include "trainer/report/json.h"

namespace bp::trainer {

// A score that is not finite becomes null.
[[nodiscard]] inline Json to_object(const EvaluationSummary& result) {
  Json json = Json::object();
  for (const auto& [key, value] : result.scores) json[key] = number(value);
  return json;
}

// Reads null as NaN. Throws Json::exception if a value is anything else than null or a number.
[[nodiscard]] inline EvaluationSummary read_evaluation(const Json& json) {
  EvaluationSummary result;
  for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
    result.scores.emplace_back(
        key, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  return result;
}

}  // namespace bp::trainer
