#include "trainer/commands/model_source.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/folder_weights.h"
#include "trainer/common/look_up.h"
#include "trainer/common/text_list.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/tensor_file.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/tasks.h"
#include "trainer/train/methods/take_weights.h"

namespace bp::trainer {
namespace {

// Returns "2 weights: classifier.bias, classifier.weight", or the first ones.
std::string list_of_weights(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  return concat(names.size(), names.size() == 1 ? " weight: " : " weights: ",
                list_of(std::span(names).first(std::min(names.size(), kShown)), ", "),
                names.size() > kShown ? ", ..." : "");
}

// Throws InputError (65) if a weight is missing whose name begins with none of `replaceable`, or
// has another shape.
void require_weights(const LoadReport& report,
                     const std::string& path,
                     const std::vector<std::string>& replaceable) {
  if (!report.misshaped.empty()) {
    throw InputError(65,
                     concat(path, " has other shapes than config.json says in ",
                            list_of_weights(report.misshaped)),
                     "the two files belong to different models");
  }
  std::vector<std::string> missing = report.missing;
  std::erase_if(missing, [&](const std::string& name) {
    return std::ranges::any_of(replaceable,
                               [&](const std::string& prefix) { return name.starts_with(prefix); });
  });
  if (missing.empty()) return;
  throw InputError(65, concat(path, " lacks ", list_of_weights(missing)), kModelFolderHint);
}

// Throws InputError (65) if a file has adapters beside products that have none here.
void refuse_other_adapters(const LoadReport& report, const std::string& path) {
  std::vector<std::string> others = report.unexpected;
  std::erase_if(others, [](const std::string& name) { return !is_adapter(name); });
  if (others.empty()) return;
  throw InputError(65, concat(path, " adapts what bp does not adapt: ", list_of_weights(others)),
                   "train the adapters with other target_modules");
}

// "bert.pooler.dense" for "bert.pooler.dense.weight", and a parameter of no module itself. PEFT
// takes the classifier as one module, also if it has two layers.
std::string module_of(const std::string& parameter) {
  if (parameter.starts_with("classifier.")) return "classifier";
  return parameter.substr(0, parameter.rfind('.'));
}

// Returns the user's settings of adapters, or by default the targets that are usual in the family.
LoraConfig adapters_for(const ModelSource& source, const TrainOptions& options) {
  LoraConfig adapters = options.lora;
  if (adapters.targets == LoraConfig().targets) adapters.targets = usual_targets(source.config);
  return adapters;
}

// Returns the settings of new adapters beside the source's weights.
LoraConfig new_adapters(const ModelSource& source, const TrainOptions& options) {
  LoraConfig adapters = adapters_for(source, options);
  adapters.base = std::filesystem::canonical(source.name).string();
  adapters.base_hash = hash_weights(source.weights);
  adapters.task_type = source.task->peft_type();
  return adapters;
}

// After the base's weights were loaded: the head, and `missing`, which the base did not have, are
// trained whole.
void train_with_adapters(Bert& model, const std::vector<std::string>& missing) {
  if (!model.ties().empty()) {
    throw InputError(2, "--lora: the head of this task shares weights with the encoder",
                     "leave out --lora");
  }
  const std::string& encoder = names_of(model.config()).prefix;
  for (const auto& [name, parameter] : model.parameters()) {
    if (!name.starts_with(encoder)) model.save_module(module_of(name));
  }
  for (const std::string& name : missing) {
    if (name.starts_with(encoder)) model.save_module(module_of(name));
  }
}

// PEFT leaves the base's config.json where it is, which does not know the head of the adapters.
void require_trained(const ModelSource& source) {
  const bool own = !source.adapters || path_exists(source.name + "/config.json");
  try {
    source.task->require_trained(source.config, own ? source.name : source.base);
  } catch (const InputError& error) {
    if (own) throw;
    throw InputError(error.exit_code(), error.what(),
                     concat("PEFT does not write what the outputs of ", source.name,
                            " mean: put config.json of the trained model there, with id2label"));
  }
}

}  // namespace

int ModelSource::max_length() const {
  return std::min(config.max_tokens(), tokenizer.max_length.value_or(config.max_tokens()));
}

ModelSource find_model(const std::string& model,
                       const TaskInput& input,
                       const Extensions& extensions,
                       const std::string& family) {
  ModelSource source;
  source.name = model;
  source.task = make_task(input);
  source.task_name = input.name();
  if (const auto config = preset(model, family)) {
    source.config = *config;
    return source;
  }
  for (const CustomModel& own : extensions.models) {
    if (own.name != model) continue;
    source.config = new_encoder(own.layers, own.hidden, family);
    source.config.heads = own.heads;
    source.config.intermediate = own.intermediate;
    check(source.config);
    return source;
  }
  if (!folder_exists(model)) {
    const std::string nearest = nearest_name(model, preset_names());
    throw InputError(2, concat("--model: '", model, "' is neither a preset nor a folder"),
                     nearest.empty() ? "presets are tiny, mini, small, medium, base and large"
                                     : concat("did you mean '", nearest, "'?"));
  }
  if (!path_exists(model + "/config.json") && path_exists(model + "/model/config.json")) {
    throw InputError(2, concat("--model: ", model, " is the folder of a run"),
                     concat("did you mean '", model, "/model'?"));
  }
  // A folder of adapters may leave a file to the base.
  const auto existing = [&](const char* name) {
    for (const std::string& folder : {model, source.base}) {
      if (!folder.empty() && path_exists(folder + name)) return folder + name;
    }
    return std::string();
  };
  if (path_exists(concat(model, "/", kAdapterConfigFile))) {
    find_adapters(source);
  } else {
    source.weights = find_weights(model);
  }
  source.vocabulary = find_vocabulary(model);
  if (source.vocabulary.empty() && !source.base.empty()) {
    source.vocabulary = find_vocabulary(source.base);
  }
  as_input_error([&] {
    std::string config = existing("/config.json");
    if (config.empty()) config = existing("/bert_config.json");  // as Google's folders call it
    if (config.empty()) config = model + "/config.json";         // the error names it
    source.config = read_config(config);
    try {
      source.task->check(source.config);
    } catch (const Error& error) {
      throw Error(error.code(), concat(config, ": ", error.what()));
    }
    const std::string tokenizer = existing("/tokenizer_config.json");
    if (!tokenizer.empty()) {
      source.tokenizer = read_tokenizer_config(tokenizer, source.vocabulary.ends_with(".json")
                                                              ? Decides::tokenizer_json
                                                              : Decides::this_file);
    }
    // Errors show before the data is prepared.
    if (source.pretrained()) (void)open_tensor_file(source.weights);
    if (source.pretrained() && !source.vocabulary.empty()) {
      const Vocabulary vocabulary = Vocabulary::read(source.vocabulary);
      check_words(vocabulary.tokens.size(), source, source.vocabulary);
      if (vocabulary.lower_case) source.tokenizer.lower_case = *vocabulary.lower_case;
    }
  });
  if (source.config.has_decoder() && source.task->peft_type() != "SEQ_CLS") {
    throw InputError(2,
                     concat("--task ", source.task_name, ": bp has models of the family '",
                            source.config.family, "' only for labels and numbers of texts"),
                     "choose --task classify or regress, or another model");
  }
  return source;
}

void require_base(const ModelSource& source, const TrainOptions& options) {
  if (source.adapters) {
    throw InputError(
        2,
        concat("--model: ", source.name, " holds adapters, and training starts from a whole model"),
        concat("bert_train merge ", source.name, " --out DIR makes one; then --model DIR"));
  }
  if (options.lora.rank == 0) return;
  if (!source.pretrained()) {
    throw InputError(
        2, concat("--lora adapts a trained model, and --model ", source.name, " has no weights"),
        "name a Hugging Face folder with --model DIR, or leave out --lora");
  }
  try {
    check(adapters_for(source, options), source.config);
  } catch (const Error& error) {
    throw InputError(
        2, concat("--lora-targets: ", error.what()),
        concat("ends of names of products: ", list_of(target_names(source.config), ", ")));
  }
}

void prepare_for(const ModelSource& source, JobData& data) {
  PrepareOptions& prepare = data.prepare;
  if (!prepare.lower_case && source.pretrained() && source.tokenizer.lower_case) {
    throw InputError(2, concat("--cased: the model ", source.name, " was trained in lower case"),
                     "leave out --cased");
  }
  prepare.lower_case = prepare.lower_case && source.tokenizer.lower_case;
  if (prepare.vocabulary.empty()) prepare.vocabulary = source.vocabulary;
  if (!source.pretrained() || !prepare.vocabulary.empty() || data.is_store) return;
  throw InputError(2, concat("no vocab.txt or tokenizer.json in ", source.name),
                   "name the vocabulary that the model was trained with: --vocab");
}

std::unique_ptr<Bert> make_model(const ModelSource& source,
                                 const RunSettings& settings,
                                 const SampleStore& store,
                                 const Say& say,
                                 bool has_values) {
  check_samples(store, source, *settings.task);
  if (const Obstacle none = settings.task->nothing_to_learn(store.names()); !none.what.empty()) {
    throw InputError(65, none.what, none.hint);
  }
  EncoderSpec config = source.config;
  if (settings.dropout >= 0) {
    config.hidden_dropout = settings.dropout;
    config.attention_dropout = settings.dropout;
    config.pooled_dropout = settings.dropout;
    if (!key_of(config, &EncoderSpec::intermediate_dropout).empty()) {
      config.intermediate_dropout = settings.dropout;
    }
    config.head.erase("classifier_dropout");  // the head's own
  }
  source.task->configure(config, store);
  fit_words(source, store, config);
  std::optional<LoraConfig> adapters;
  if (settings.lora.rank > 0) adapters = new_adapters(source, settings);
  auto model = std::make_unique<Bert>(std::move(config), source.task->head(), settings.precision,
                                      has_values ? Seed(settings.seed) : std::nullopt,
                                      std::move(adapters), device_of(settings.rank_device));
  if (!source.pretrained()) return model;

  const Task::TakenWeights taken = source.task->taken_weights(source.config, model->config());
  const LoadReport report = as_input_error(
      [&] { return load_weights(*model, source.weights, taken.replaced, has_values); });
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

namespace {

std::unique_ptr<Bert> load_values(const ModelSource& source,
                                  c10::Device device,
                                  Precision precision,
                                  bool has_values) {
  if (!source.pretrained()) {
    throw InputError(66, concat("no model.safetensors or pytorch_model.bin in ", source.name),
                     kModelFolderHint);
  }
  require_trained(source);
  auto model = as_input_error([&] {
    return std::make_unique<Bert>(source.config, source.task->head(), precision, std::nullopt,
                                  source.adapters, device);
  });
  model->evaluate_as_trained(true);
  std::vector<std::string> own;  // what a file of adapters has
  if (source.adapters) {
    for (const auto& [name, parameter] : saved_parameters(*model)) own.push_back(name);
  }
  require_weights(
      as_input_error([&] { return load_weights(*model, source.weights, own, has_values); }),
      source.weights, own);
  if (!source.adapters) return model;
  const LoadReport adapters =
      as_input_error([&] { return load_adapters(*model, source.adapter_weights); });
  require_weights(adapters, source.adapter_weights, {});
  refuse_other_adapters(adapters, source.adapter_weights);
  return model;
}

}  // namespace

std::unique_ptr<Bert> load_model(const ModelSource& source,
                                 c10::Device device,
                                 Precision precision) {
  return load_values(source, device, precision, true);
}

std::unique_ptr<Bert> load_model(Communicator& world,
                                 const ModelSource& source,
                                 c10::Device device,
                                 Precision precision) {
  const bool shares = device.is_cpu();
  auto model = load_values(source, device, precision, !shares || world.rank() == 0);
  if (shares) share_weights(world, *model);
  return model;
}

}  // namespace bp::trainer
