// The configuration of a model, as in Hugging Face's config.json. Does not use LibTorch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/families/encoder_spec.h"

namespace bp::trainer {

// Returns a model of this family to train from scratch. It takes texts of 512 tokens or more; the
// vocabulary's size and padding token are those of its data. See family.h for the families.
[[nodiscard]] EncoderSpec new_encoder(int layers, int hidden, std::string_view family = "bert");

// Returns the preset of this name; nothing if there is none. The presets have the layers and hidden
// sizes of the published BERT models, with 64 numbers per head: "tiny" 2/128, "mini" 4/256, "small"
// 4/512, "medium" 8/512, "base" 12/768 and "large" 24/1024.
[[nodiscard]] std::optional<EncoderSpec> preset(std::string_view name,
                                                std::string_view family = "bert");
[[nodiscard]] const std::vector<std::string>& preset_names();

// Returns the standard deviation of the initial weights of a model that is trained from scratch.
[[nodiscard]] double initial_deviation(int hidden);

// Throws invalid_argument naming the value that is wrong: a size below 1, a number of heads that
// does not divide hidden, rows wider than the kernels support, a share outside 0..1, or more than
// 2^33 parameters.
void check(const EncoderSpec& config);

// Reads a config.json of any family (families/family.h); without 'model_type' it is a BERT's. Other
// keys go into `head`. Throws invalid_argument, naming `path`, for broken JSON, invalid values, and
// models that bp does not have (another model_type, an activation other than "gelu", relative
// positions, decoders, quantised or pruned models); throws io if the file cannot be read.
[[nodiscard]] EncoderSpec read_config(const std::string& path);
// Parses the file's text; errors do not name the file.
[[nodiscard]] EncoderSpec parse_config(const std::string& text);

// Returns the text of config.json.
[[nodiscard]] std::string config_json(const EncoderSpec& config);

}  // namespace bp::trainer
