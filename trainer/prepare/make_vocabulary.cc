#include "trainer/prepare/make_vocabulary.h"

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/text/vocabulary_training.h"

namespace bp::trainer {

Vocabulary read_vocabulary(const std::string& path, bool lower_case) {
  Vocabulary vocabulary;
  try {
    vocabulary = Vocabulary::read(path);
  } catch (const Error& error) {
    throw InputError(
        65, error.what(),
        "--vocab takes the vocab.txt or the tokenizer.json of a BERT or of another model, "
        "or its vocab.json beside merges.txt");
  }
  if (vocabulary.lower_case.value_or(lower_case) != lower_case) {
    throw InputError(
        2, concat(path, lower_case ? " keeps the case of texts" : " is for texts in lower case"),
        lower_case ? "add --cased" : "leave out --cased");
  }
  return vocabulary;
}

Vocabulary stored_vocabulary(const std::vector<std::string>& tokens, const std::string& tokenizer) {
  if (tokenizer.empty()) return {.tokens = tokens};
  return Vocabulary::parse(tokenizer, "the store's tokenizer.json");
}

Vocabulary vocabulary_of(const SampleStore& store) {
  return stored_vocabulary(store.vocabulary(), store.tokenizer());
}

Vocabulary needed_vocabulary(const std::string& path, const PrepareOptions& options) {
  if (options.vocabulary.empty()) {
    throw InputError(2, concat("the vocabulary for ", path, " is missing"),
                     "name the vocab.txt or tokenizer.json of its tokens with --vocab, or a model "
                     "that has one with --model");
  }
  return read_vocabulary(options.vocabulary, options.lower_case);
}

Vocabulary make_vocabulary(const Plan& plan,
                           const std::function<bool(std::int64_t row)>& trains,
                           const Say& say) {
  if (!plan.options.vocabulary.empty()) {
    return read_vocabulary(plan.options.vocabulary, plan.options.lower_case);
  }
  say("training a vocabulary");
  VocabularyTrainer trainer(plan.options.lower_case, plan.options.vocabulary_kind);
  for (SourceRows rows(plan, plan.sources.front()); rows.next();) {
    if (trains(rows.number())) trainer.add(rows.text());
  }
  return trainer.train(plan.options.vocabulary_size);
}

}  // namespace bp::trainer
