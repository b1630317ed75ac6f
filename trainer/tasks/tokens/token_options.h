// Makes samples of rows for the task "tokens": the words of a sentence and their tags. Does not use
// LibTorch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "trainer/prepare/task_data.h"
#include "trainer/store/sample_schema.h"
#include "trainer/tasks/tokens/conll.h"
#include "trainer/tasks/tokens/sentence_windows.h"

namespace bp::trainer {

struct TokenOptions {
  // Of tables, by name or by number from 1; keys in JSON lines. Blanks separate the words, and the
  // tags.
  std::string words_column = "words";
  std::string tags_column = "tags";
  ConllColumns conll = {};
  // The tags of a trained model, in its order, by which sentences are scored; empty: those of the
  // sentences to train on.
  std::vector<std::string> known_tags = {};
};

// Finds the tags of the rows to train on, and what is wrong with a sentence. The names are "O" and
// then the other tags by type: O, B-LOC, I-LOC, B-PER. All arguments must outlive the result.
[[nodiscard]] std::unique_ptr<RowFinder> make_tag_finder(const Plan& plan,
                                                         const TokenOptions& options,
                                                         Findings& found);
// See TaskData::nothing_to_learn().
[[nodiscard]] Obstacle no_tags_to_learn(const std::vector<std::string>& names);

// The order of the fields.
inline constexpr std::size_t kWordsField = 0;
inline constexpr std::size_t kTagsField = 1;

// The order of the arrays: the target of each token, and the places of the words' first pieces.
inline constexpr std::size_t kTargetsArray = 0;
inline constexpr std::size_t kWordsArray = 1;

[[nodiscard]] inline SampleSchema token_schema() {
  return {{.name = "targets", .shape = Shape::per_token, .padding = kIgnoredTarget, .named = true},
          {.name = "words", .shape = Shape::ragged, .places = true}};
}

}  // namespace bp::trainer
