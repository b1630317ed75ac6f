// The entities that a model finds: for the terminal, as a section of report.html and as a file.
#pragma once

#include <string>

#include "base/report/section.h"
#include "trainer/tasks/tokens/entity_report.h"

namespace bp::trainer {

// Returns exactly what seqeval.metrics.classification_report(digits=digits, zero_division=0)
// prints. Where seqeval fails because there is no entity, returns its table with averages of 0.
[[nodiscard]] std::string entity_report(const EntityScores& scores, int digits = 2);

// `split`: what was scored, "test".
[[nodiscard]] Section entity_section(const EntityScores& scores, const std::string& split);

// "type,precision,recall,f1,support", a line for each type, and "micro avg", "macro avg" and
// "weighted avg".
[[nodiscard]] std::string entities_csv(const EntityScores& scores);

}  // namespace bp::trainer
