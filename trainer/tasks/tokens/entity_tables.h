// The entities that a model finds as a section of report.html and as a file.
#pragma once

#include <string>

#include "trainer/tasks/tokens/entity_report.h"

namespace bp::trainer {

// `split`: what was scored, "test".
[[nodiscard]] std::string entity_section(const EntityScores& scores, const std::string& split);

// "type,precision,recall,f1,support", a line for each type, and "micro avg", "macro avg" and
// "weighted avg".
[[nodiscard]] std::string entities_csv(const EntityScores& scores);

}  // namespace bp::trainer
