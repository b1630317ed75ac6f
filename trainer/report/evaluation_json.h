// An evaluation as JSON, as summary.json and the state of a checkpoint store it.
#pragma once

#include "trainer/report/json.h"
#include "trainer/report/metrics.h"

namespace bp::trainer {

[[nodiscard]] inline Json to_object(const EvaluationSummary& result) {
  return {{"loss", number(result.loss)},
          {"accuracy", number(result.accuracy)},
          {"mcc", number(result.mcc)},
          {"f1_macro", number(result.f1_macro)},
          {"log_loss", number(result.log_loss)}};
}

}  // namespace bp::trainer
