// Scores of the entities that a model finds, equal to seqeval's. A quotient without a meaning (for
// a type that never occurs or is never predicted) is 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/report/section.h"
#include "trainer/tasks/tokens/entities.h"

namespace bp::trainer {

struct EntityScore {
  double precision = 0;  // share of the predicted entities that are right
  double recall = 0;     // share of the data's entities that are found
  double f1 = 0;
  std::int64_t support = 0;  // number of entities in the data
};

struct EntityScores {
  std::vector<std::string> types = {};   // those that occur in the data or among the predictions
  std::vector<EntityScore> scores = {};  // of each of them
  EntityScore micro = {};                // of all entities together
  EntityScore macro = {};                // plain mean over types
  EntityScore weighted = {};             // mean weighted by support
  double accuracy = 0;                   // share of the words whose predicted tag is right
};

[[nodiscard]] EntityScores entity_scores(const EntityTally& tally);

// Returns exactly what seqeval.metrics.classification_report(digits=digits, zero_division=0)
// prints. Where seqeval fails because there is no entity, returns its table with averages of 0.
[[nodiscard]] std::string entity_report(const EntityScores& scores, int digits = 2);

// `split`: what was scored, "test".
[[nodiscard]] Section entity_section(const EntityScores& scores, const std::string& split);

// "type,precision,recall,f1,support", a line for each type, and "micro avg", "macro avg" and
// "weighted avg".
[[nodiscard]] std::string entities_csv(const EntityScores& scores);

}  // namespace bp::trainer
