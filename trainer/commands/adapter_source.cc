#include "trainer/commands/adapter_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/weight_report.h"
#include "trainer/data/hash.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/model/byte_source.h"
#include "trainer/model/weights.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

// Returns the folder of the base model. A relative path is that of the current folder, as PEFT
// takes it, of the adapters' folder, or of the folder in which the run of the adapters was started.
std::string base_folder(const std::string& folder, const LoraConfig& adapters) {
  if (!adapters.base.empty()) {
    for (const std::string& base : {adapters.base, concat(folder, "/", adapters.base),
                                    path_of_run(folder + "/..", adapters.base),
                                    path_of_run(folder + "/../..", adapters.base)}) {
      if (folder_exists(base)) return base;
    }
  }
  throw InputError(66,
                   concat("the base model ", in_quotes(adapters.base), " of the adapters in ",
                          folder, " is not a folder"),
                   concat("correct base_model_name_or_path in ", folder, "/", kAdapterConfigFile));
}

void require_same_base(const std::string& folder,
                       const LoraConfig& adapters,
                       const std::string& weights) {
  if (adapters.base_hash.empty() || hash_file(weights).hex == adapters.base_hash) return;
  throw InputError(
      65,
      concat(weights, " is not the model beside which the adapters in ", folder, " were trained"),
      concat("name that model's folder as base_model_name_or_path in ", folder, "/",
             kAdapterConfigFile));
}

// "bert.pooler.dense" for "bert.pooler.dense.weight", and a parameter of no module itself.
std::string module_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

}  // namespace

bool has_adapters(const std::string& folder) {
  return path_exists(concat(folder, "/", kAdapterConfigFile));
}

void find_adapters(ModelSource& source) {
  const std::string& folder = source.name;
  source.adapters =
      as_input_error([&] { return read_adapter_config(concat(folder, "/", kAdapterConfigFile)); });
  const std::string base = base_folder(folder, *source.adapters);
  source.base = base;
  source.weights = find_weights(base);
  source.adapter_weights = concat(folder, "/", kAdapterWeightsFile);
  for (const std::string& file : {source.adapter_weights, base + "/config.json"}) {
    if (!path_exists(file)) throw InputError(66, concat("no ", file), kModelFolderHint);
  }
  if (source.weights.empty()) {
    throw InputError(66, concat("no model.safetensors or pytorch_model.bin in ", base),
                     kModelFolderHint);
  }
  const std::string known = concat(folder, "/", kAdapterBaseFile);
  if (path_exists(known)) {
    source.adapters->base_hash = as_input_error([&] { return base_hash_in(known); });
  }
  require_same_base(folder, *source.adapters, source.weights);
}

void require_base(const ModelSource& source, const Options& options) {
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
    check(options.lora, source.config.layers);
  } catch (const Error& error) {
    throw InputError(2, concat("--lora-targets: ", error.what()),
                     "ends of names of products: query, key, value, dense, attention.output.dense, "
                     "intermediate.dense, output.dense, pooler.dense");
  }
}

LoraConfig new_adapters(const ModelSource& source, const Options& options) {
  LoraConfig adapters = options.lora;
  adapters.base = fs::canonical(source.name).string();
  adapters.base_hash = hash_file(source.weights).hex;
  adapters.task_type = source.task->peft_type();
  return adapters;
}

void train_with_adapters(Bert& model, const std::vector<std::string>& missing) {
  if (!model.ties().empty()) {
    throw InputError(2, "--lora: the head of this task shares weights with the encoder",
                     "leave out --lora");
  }
  for (const auto& [name, parameter] : model.parameters()) {
    if (!name.starts_with("bert.")) model.save_module(module_of(name));
  }
  for (const std::string& name : missing) {
    if (name.starts_with("bert.")) model.save_module(module_of(name));
  }
}

std::unique_ptr<Bert> load_adapted(const ModelSource& source,
                                   c10::Device device,
                                   Precision precision) {
  source.task->require_trained(source.config, source.name);
  auto model = as_input_error([&] {
    return std::make_unique<Bert>(source.config, source.task->head(), precision, 0, source.adapters,
                                  device);
  });
  model->evaluate_as_trained(true);
  std::vector<std::string> own;  // the adapters' file has them
  for (const auto& [name, parameter] : saved_parameters(*model)) own.push_back(name);
  require_weights(as_input_error([&] { return load_weights(*model, source.weights, own); }),
                  source.weights, own);
  require_weights(as_input_error([&] { return load_adapters(*model, source.adapter_weights); }),
                  source.adapter_weights, {});
  return model;
}

}  // namespace bp::trainer
