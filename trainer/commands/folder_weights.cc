#include "trainer/commands/folder_weights.h"

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/hash.h"
#include "trainer/common/look_up.h"
#include "trainer/model/files/byte_source.h"
#include "trainer/model/files/sharded_file.h"
#include "trainer/model/lora.h"
#include "trainer/run/run_settings.h"

namespace bp::trainer {
namespace {

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
  if (adapters.base_hash.empty() || hash_weights(weights) == adapters.base_hash) return;
  throw InputError(
      65,
      concat(weights, " is not the model beside which the adapters in ", folder, " were trained"),
      concat("name that model's folder as base_model_name_or_path in ", folder, "/",
             kAdapterConfigFile));
}

}  // namespace

std::string find_weights(const std::string& folder) {
  for (const char* name : {"/model.safetensors", "/model.safetensors.index.json",
                           "/pytorch_model.bin", "/pytorch_model.bin.index.json"}) {
    if (path_exists(folder + name)) return folder + name;
  }
  // A user with weights in another format does not want to train from scratch.
  for (const char* name : {"/tf_model.h5", "/flax_model.msgpack", "/model.ckpt.index"}) {
    if (!path_exists(folder + name)) continue;
    throw InputError(65, concat("bp cannot read the weights of ", folder + name),
                     "load and save them with transformers as one model.safetensors");
  }
  return "";
}

std::string hash_weights(const std::string& weights) {
  if (!is_weight_index(weights)) return hash_file(weights).hex;
  Hash all;
  for (const std::string& file : as_input_error([&] { return files_of_weights(weights); })) {
    all.add(hash_file(file).hex);
  }
  return all.hex();
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

}  // namespace bp::trainer
