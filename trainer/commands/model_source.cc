#include "trainer/commands/model_source.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/adapter_source.h"
#include "trainer/commands/weight_report.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/plan.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/model/tensor_file.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/tasks.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

// A model whose vocabulary size is padded to a round number has embeddings that no token uses.
void check_words(std::size_t words, const ModelSource& source, const std::string& vocabulary) {
  constexpr int kMostPadding = 1024;
  const int wanted = source.config.vocabulary;
  const auto count = static_cast<std::int64_t>(words);
  if (count <= wanted && wanted - count < kMostPadding) return;
  throw InputError(65,
                   concat(vocabulary, " has ", count, " tokens, but vocab_size in ", source.name,
                          "/config.json is ", wanted),
                   "use the vocabulary that the model was trained with: --vocab");
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

}  // namespace

int ModelSource::max_length() const {
  return std::min(config.positions, tokenizer.max_length.value_or(config.positions));
}

ModelSource find_model(const std::string& model,
                       const TaskInput& input,
                       const Extensions& extensions) {
  ModelSource source;
  source.name = model;
  source.task = make_task(input);
  source.task_name = input.name();
  if (const auto config = preset(model)) {
    source.config = *config;
    return source;
  }
  for (const CustomModel& own : extensions.models) {
    if (own.name != model) continue;
    source.config.layers = own.layers;
    source.config.hidden = own.hidden;
    source.config.heads = own.heads;
    source.config.intermediate = own.intermediate;
    check(source.config);
    source.config.initializer_range = initial_deviation(own.hidden);
    return source;
  }
  if (!folder_exists(model)) {
    const std::string nearest = nearest_name(model, preset_names());
    throw InputError(2, concat("--model: '", model, "' is neither a preset nor a folder"),
                     nearest.empty() ? "presets are tiny, mini, small, medium, base and large"
                                     : concat("did you mean '", nearest, "'?"));
  }
  // A folder of adapters may leave a file to the base.
  const auto existing = [&](const char* name) {
    for (const std::string& folder : {model, source.base}) {
      if (!folder.empty() && path_exists(folder + name)) return folder + name;
    }
    return std::string();
  };
  if (has_adapters(model)) {
    find_adapters(source);
  } else {
    source.weights = find_weights(model);
  }
  source.vocabulary = existing("/vocab.txt");
  as_input_error([&] {
    std::string config = existing("/config.json");
    if (config.empty()) config = model + "/config.json";  // the error names it
    source.config = read_config(config);
    try {
      source.task->check(source.config);
    } catch (const Error& error) {
      throw Error(error.code(), concat(config, ": ", error.what()));
    }
    const std::string tokenizer = existing("/tokenizer_config.json");
    if (!tokenizer.empty()) source.tokenizer = read_tokenizer_config(tokenizer);
    // Errors show before the data is prepared.
    if (source.pretrained()) (void)open_tensor_file(source.weights);
    if (source.pretrained() && !source.vocabulary.empty()) {
      check_words(Vocabulary::read(source.vocabulary).tokens.size(), source, source.vocabulary);
    }
  });
  return source;
}

void prepare_for(const ModelSource& source, Options& options) {
  PrepareOptions& prepare = options.prepare;
  if (!prepare.lower_case && source.pretrained() && source.tokenizer.lower_case) {
    throw InputError(2, concat("--cased: the model ", source.name, " was trained in lower case"),
                     "leave out --cased");
  }
  prepare.lower_case = prepare.lower_case && source.tokenizer.lower_case;
  if (prepare.vocabulary.empty()) prepare.vocabulary = source.vocabulary;
  if (!source.pretrained() || !prepare.vocabulary.empty() || options.data_is_store) return;
  throw InputError(2, concat("no vocab.txt in ", source.name),
                   "name the vocabulary that the model was trained with: --vocab");
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
  if (!source.vocabulary.empty() &&
      store.vocabulary() != Vocabulary::read(source.vocabulary).tokens) {
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

std::unique_ptr<Bert> make_model(const ModelSource& source,
                                 const Options& options,
                                 const SampleStore& store,
                                 const Say& say) {
  check_samples(store, source, *options.task);
  if (const Obstacle none = options.task->nothing_to_learn(store.names()); !none.what.empty()) {
    throw InputError(65, none.what, none.hint);
  }
  BertConfig config = source.config;
  if (options.dropout >= 0) {
    config.hidden_dropout = options.dropout;
    config.attention_dropout = options.dropout;
    config.head.erase("classifier_dropout");  // the head's own
  }
  source.task->configure(config, store);
  if (!source.pretrained()) config.vocabulary = static_cast<int>(store.vocabulary().size());
  config.pad_id = store.pad_id();
  std::optional<LoraConfig> adapters;
  if (options.lora.rank > 0) adapters = new_adapters(source, options);
  auto model = std::make_unique<Bert>(std::move(config), source.task->head(), options.precision,
                                      options.seed, std::move(adapters), device_of(options));
  if (!source.pretrained()) return model;

  const Task::TakenWeights taken = source.task->taken_weights(source.config, model->config());
  const LoadReport report =
      as_input_error([&] { return load_weights(*model, source.weights, taken.replaced); });
  require_weights(report, source.weights, taken.optional);
  as_input_error([&] { source.task->complete_weights(*model, source.config, source.weights); });
  if (model->lora() != nullptr) train_with_adapters(*model, report.missing);
  if (!report.missing.empty()) {
    say(concat("newly initialized: ", list_of_weights(report.missing),
               taken.reason.empty() ? "" : concat(" (", taken.reason, ")")));
  }
  if (!report.unexpected.empty()) {
    say(concat("not used of ", source.weights, ": ", list_of_weights(report.unexpected)));
  }
  return model;
}

std::unique_ptr<Bert> load_model(const ModelSource& source,
                                 c10::Device device,
                                 Precision precision) {
  if (!source.pretrained()) {
    throw InputError(66, concat("no model.safetensors or pytorch_model.bin in ", source.name),
                     kModelFolderHint);
  }
  if (source.adapters) return load_adapted(source, device, precision);
  source.task->require_trained(source.config, source.name);
  auto model = std::make_unique<Bert>(source.config, source.task->head(), precision, 0,
                                      std::nullopt, device);
  model->evaluate_as_trained(true);
  require_weights(as_input_error([&] { return load_weights(*model, source.weights); }),
                  source.weights, {});
  return model;
}

}  // namespace bp::trainer
