// Folders of adapters (PEFT's format, trainer/model/lora.h) and the base models beside them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "trainer/commands/model_source.h"

namespace bp::trainer {

// Returns whether the folder holds adapters.
[[nodiscard]] bool has_adapters(const std::string& folder);

// Completes the source of a folder of adapters: their configuration, and the base's weights; its
// other files unless the folder has its own. Throws InputError: 66 if the base does not exist, 65
// if it is not the one that the adapters were trained beside, and what reading the files throws.
void find_adapters(ModelSource& source);

// Throws InputError (2) unless the source can be trained as `options` ask: a folder of adapters
// cannot, and --lora needs weights and names of products.
void require_base(const ModelSource& source, const Options& options);

// Returns the settings of new adapters beside the source's weights.
[[nodiscard]] LoraConfig new_adapters(const ModelSource& source, const Options& options);

// After the base's weights were loaded: the head, and `missing`, which the base did not have, are
// trained whole. Throws InputError (2) if the head shares weights with the encoder.
void train_with_adapters(Bert& model, const std::vector<std::string>& missing);

// Loads base and adapters for evaluation in `precision`. Throws InputError (65) if a weight is
// missing.
[[nodiscard]] std::unique_ptr<Bert> load_adapted(const ModelSource& source,
                                                 c10::Device device,
                                                 Precision precision);

}  // namespace bp::trainer
