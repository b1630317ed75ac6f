// LoRA: adapters of low rank beside frozen weights (Hu et al., 2021, "LoRA: low-rank adaptation of
// large language models", arXiv:2106.09685). A product x W^T becomes
//
//   x W^T + scale dropout(x) A^T B^T
//
// with the scale alpha / rank, or alpha / sqrt(rank) if it is stabilized (Kalajdzievski, 2023, "A
// rank stabilization scaling factor for fine-tuning with LoRA", arXiv:2312.03732), A [rank, in] and
// B [out, rank]. A is drawn from (-1 / sqrt(in), 1 / sqrt(in)), which is kaiming_uniform_(a =
// sqrt(5)), and B is 0, so that training starts with the base's outputs.
//
// This is the plain data, with the names and the file adapter_config.json of Hugging Face's PEFT.
// Does not use LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/model/families/encoder_spec.h"

namespace bp::trainer {

// Returns whether the parameter of this name is one of an adapter's matrices.
[[nodiscard]] inline bool is_adapter(std::string_view parameter) {
  return parameter.find(".lora_") != std::string_view::npos;
}

inline constexpr const char* kAllLinear = "all-linear";

struct LoraConfig {
  int rank = 0;
  double alpha = 16;
  double dropout = 0;  // share of values of x that are dropped before A
  // Ends of the names of modules that get adapters: "query", "attention.output.dense". As in PEFT,
  // a target is the whole name or follows a dot; kAllLinear alone: all products.
  std::vector<std::string> targets = {"query", "value"};
  // Instead of `targets`, as PEFT has it: a regular expression that a module's whole name matches.
  std::string target_pattern = {};
  // Modules that are trained and saved whole: the head, and what the base does not have.
  std::vector<std::string> modules_to_save = {};
  std::string task_type = {};  // "SEQ_CLS", "TOKEN_CLS", or empty
  std::string base = {};       // the base model's folder
  std::string base_hash =
      {};  // of the file with its weights (trainer/common/hash.h); empty: unknown
  // Other ranks and alphas than these of all, each for an end of names as in `targets`. Of several
  // that fit, the first counts.
  std::vector<std::pair<std::string, int>> ranks = {};
  std::vector<std::pair<std::string, double>> alphas = {};
  bool rank_stabilized = false;
  bool operator==(const LoraConfig&) const = default;

  // Return the rank and the scale of the adapter beside the product of this name.
  [[nodiscard]] int rank_of(std::string_view module) const;
  [[nodiscard]] double scale_of(std::string_view module) const;
  // Returns whether the product "bert.encoder.layer.0.attention.self.query" gets an adapter.
  [[nodiscard]] bool adapts(std::string_view module) const;
  // Returns whether a parameter of this name is trained and saved.
  [[nodiscard]] bool saves(std::string_view parameter) const;
};

// The names of all products of an encoder that can get an adapter.
[[nodiscard]] std::vector<std::string> adaptable_modules(const EncoderSpec& spec);
// The targets that a user can name for each kind of product: "query", "attention.output.dense".
[[nodiscard]] std::vector<std::string> target_names(const EncoderSpec& spec);
// The targets of queries and values, which PEFT adapts unless it is told others.
[[nodiscard]] std::vector<std::string> usual_targets(const EncoderSpec& spec);

// Throws invalid_argument, naming the target, if one fits no product of the encoder and nothing
// that is saved whole, or if the rank is below 1.
void check(const LoraConfig& config, const EncoderSpec& spec);

inline constexpr const char* kAdapterConfigFile = "adapter_config.json";
inline constexpr const char* kAdapterWeightsFile = "adapter_model.safetensors";
// Which base the adapters were trained beside; only bp writes and reads it.
inline constexpr const char* kAdapterBaseFile = "adapter_base.json";
// What a name in a file of adapters has before bp's name.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

// Returns the text of adapter_base.json, and the hash in it.
[[nodiscard]] std::string adapter_base_json(const LoraConfig& config);
[[nodiscard]] std::string base_hash_in(const std::string& path);

// Returns the text of adapter_config.json with the keys that every version of PEFT knows.
[[nodiscard]] std::string adapter_config_json(const LoraConfig& config);
// Throws invalid_argument, without the file's name, for broken JSON and for adapters of a kind that
// bp does not have (DoRA, trained biases, ...).
[[nodiscard]] LoraConfig parse_adapter_config(const std::string& content);
// The same for a file, which errors name. Throws io if it cannot be read.
[[nodiscard]] LoraConfig read_adapter_config(const std::string& path);

}  // namespace bp::trainer
