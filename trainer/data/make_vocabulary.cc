#include "trainer/data/make_vocabulary.h"

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/input_error.h"
#include "trainer/data/source_rows.h"
#include "trainer/text/vocabulary_training.h"

namespace bp::trainer {

Vocabulary read_vocabulary(const std::string& path) {
  try {
    return Vocabulary::read(path);
  } catch (const Error& error) {
    throw InputError(65, error.what(), "--vocab takes the vocab.txt of a BERT model");
  }
}

Vocabulary needed_vocabulary(const std::string& path, const PrepareOptions& options) {
  if (options.vocabulary.empty()) {
    throw InputError(2, concat("the vocabulary for ", path, " is missing"),
                     "name the vocab.txt of its tokens with --vocab, or a model that has one with "
                     "--model");
  }
  return read_vocabulary(options.vocabulary);
}

Vocabulary make_vocabulary(const Plan& plan,
                           const std::function<bool(std::int64_t row)>& trains,
                           const Say& say) {
  if (!plan.options.vocabulary.empty()) return read_vocabulary(plan.options.vocabulary);
  say("training a vocabulary");
  VocabularyTrainer trainer(plan.options.lower_case);
  for (SourceRows rows(plan, plan.sources.front()); rows.next();) {
    if (trains(rows.number())) trainer.add(rows.text());
  }
  return trainer.train(plan.options.vocabulary_size);
}

}  // namespace bp::trainer
