// Whether a model fits the data, and what a new one takes from it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/commands/model_source.h"
#include "trainer/model/families/family.h"

namespace bp::trainer {
namespace {

constexpr const char* kVocabularyHint =
    "use the vocabulary that the model was trained with: --vocab";

// A model with a decoder reads the state of the last token, which must be the one that it knows. A
// new one learns it from the data, and BART begins with it, too.
void settle_end(const ModelSource& source, const SampleStore& store, EncoderSpec& config) {
  const std::int32_t end = store.load(Split::train, 0).token_ids.back();
  if (!source.pretrained()) config.start_id = config.end_id = end;
  if (end == config.end_id) return;
  throw InputError(65,
                   concat("the texts of the data end with the token ", end, ", and ", source.name,
                          "/config.json says eos_token_id ", config.end_id),
                   kVocabularyHint);
}

bool is_another(const SampleStore& store, const Vocabulary& vocabulary) {
  return store.vocabulary() != vocabulary.tokens || store.tokenizer() != vocabulary.json();
}

std::string values_of(Shape shape) {
  return shape == Shape::one      ? "one value"
         : shape == Shape::ragged ? "any number of values"
                                  : "a value for each token";
}

// The values of an array that both have mean the same only if they have the same form.
void check_arrays(const SampleSchema& schema, const TaskInput& input) {
  for (const ArrayField& wanted : input.schema()) {
    const auto found = std::ranges::find(schema, wanted.name, &ArrayField::name);
    if (found == schema.end()) continue;
    if (found->element == wanted.element && found->shape == wanted.shape) continue;
    throw InputError(65,
                     concat("the data was prepared with other options of --task ", input.name(),
                            ": a sample has ", values_of(found->shape), " of '", wanted.name,
                            "', and the model expects ", values_of(wanted.shape)),
                     concat("name the file that the data came from; bert_train --task ",
                            input.name(), " --help lists the options"));
  }
}

// A model that counts positions from its padding token was trained with that one. A new one takes
// any that leaves positions enough, unless its family has no key for it: transformers computes with
// a fixed one then.
void settle_padding(const ModelSource& source, const SampleStore& store, EncoderSpec& config) {
  const int known = std::exchange(config.pad_id, store.pad_id());
  if (known == config.pad_id || !config.positions_from_pad) return;
  const std::string has =
      concat("the padding token of the data's vocabulary has the id ", config.pad_id, ", and ");
  if (source.pretrained()) {
    throw InputError(65,
                     concat(has, source.name, "/config.json says pad_token_id ", known,
                            ", from which the model counts positions"),
                     kVocabularyHint);
  }
  const std::string models = concat(has, "models of the family ", config.family);
  const char* const hint = "--vocab-kind bpe trains a vocabulary that fits";
  if (key_of(config, &EncoderSpec::pad_id).empty()) {
    throw InputError(65, concat(models, " need ", known), hint);
  }
  if (config.max_tokens() >= store.max_length()) return;
  throw InputError(
      65, concat(models, " count positions from it, of which ", config.positions, " are too few"),
      hint);
}

}  // namespace

// A model whose vocabulary size is padded to a round number has embeddings that no token uses.
void check_words(std::size_t words, const ModelSource& source, const std::string& vocabulary) {
  constexpr int kMostPadding = 1024;
  const int wanted = source.config.vocabulary;
  const auto count = static_cast<std::int64_t>(words);
  if (count <= wanted && wanted - count < kMostPadding) return;
  throw InputError(65,
                   concat(vocabulary, " has ", count, " tokens, but vocab_size in ", source.name,
                          "/config.json is ", wanted),
                   kVocabularyHint);
}

void check_samples(const SampleStore& store, const ModelSource& source, const TaskInput& input) {
  if (store.task() != source.task_name) {
    throw InputError(65,
                     concat("the data was prepared for the task ", store.task(),
                            ", and the model is for ", source.task_name),
                     "name the file that the data came from, or the task with --task");
  }
  check_arrays(store.schema(), input);
  if (store.max_length() > source.max_length()) {
    throw InputError(2,
                     concat("samples of up to ", store.max_length(), " tokens, but the model ",
                            source.name, " takes ", source.max_length()),
                     concat("choose --max-length ", source.max_length(), " or less"));
  }
  if (!source.pretrained()) return;
  if (!source.vocabulary.empty() && is_another(store, Vocabulary::read(source.vocabulary))) {
    throw InputError(
        65, concat("the data was prepared with another vocabulary than ", source.vocabulary),
        concat("prepare it with --vocab ", source.vocabulary, " and another --store"));
  }
  check_words(store.vocabulary().size(), source, "the vocabulary of the data");
  if (store.lower_case() != source.tokenizer.lower_case) {
    throw InputError(65,
                     concat("the data was prepared ", store.lower_case() ? "in lower" : "with its",
                            " case, which the model ", source.name, " was not trained with"),
                     "prepare it for this model in another --store");
  }
}

void fit_words(const ModelSource& source, const SampleStore& store, EncoderSpec& config) {
  if (!source.pretrained()) config.vocabulary = static_cast<int>(store.vocabulary().size());
  settle_padding(source, store, config);
  if (config.has_decoder()) settle_end(source, store, config);
}

}  // namespace bp::trainer
