// The predictions of a model that tags words, and their scores on a split: the entities that it
// finds, of whole sentences.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/tasks/scorer.h"

namespace bp::trainer {

// `tags`: the model's; `tag_map`: the model's number of each of the samples' tags.
[[nodiscard]] std::unique_ptr<Scorer> make_token_scorer(std::vector<std::string> tags,
                                                        std::vector<int> tag_map,
                                                        const StoredSplit& scored);

}  // namespace bp::trainer
