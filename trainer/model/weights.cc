#include "trainer/model/weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/model/safetensors.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// The name that a file's tensor has in our model.
std::string modern_name(std::string name) {
  const auto rename_suffix = [&name](std::string_view from, std::string_view to) {
    if (name.size() >= from.size() && name.ends_with(from)) {
      name.replace(name.size() - from.size(), from.size(), to);
    }
  };
  rename_suffix("LayerNorm.gamma", "LayerNorm.weight");
  rename_suffix("LayerNorm.beta", "LayerNorm.bias");
  for (const std::string_view part : {"embeddings.", "encoder.", "pooler."}) {
    if (name.starts_with(part)) return "bert." + name;
  }
  return name;
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

at::ScalarType scalar_type(const SafetensorsEntry& entry, const std::string& path) {
  if (entry.type == "F32") return at::kFloat;
  if (entry.type == "F16") return at::kHalf;
  if (entry.type == "BF16") return at::kBFloat16;
  throw Error(ErrorCode::invalid_argument,
              concat(path, ": '", entry.name, "' is of type ", entry.type,
                     "; weights must be F32, F16 or BF16"));
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(ErrorCode::io, concat("cannot write ", path.string()));
}

std::string tokenizer_json(const TokenizerFiles& tokenizer) {
  nlohmann::ordered_json json;
  json["do_lower_case"] = tokenizer.lower_case;
  json["model_max_length"] = tokenizer.max_length;
  json["tokenizer_class"] = "BertTokenizer";
  json["pad_token"] = "[PAD]";
  json["unk_token"] = "[UNK]";
  json["cls_token"] = "[CLS]";
  json["sep_token"] = "[SEP]";
  json["mask_token"] = "[MASK]";
  return json.dump(2) + "\n";
}

}  // namespace

// Query, key and value are three slices of one tensor.
std::vector<std::pair<std::string, Tensor>> named_weights(const Bert& model) {
  constexpr std::string_view kMerged = ".qkv.";
  std::vector<std::pair<std::string, Tensor>> result;
  for (const auto& [name, parameter] : model.parameters()) {
    const Tensor values = parameter.detach();
    const std::size_t at = name.find(kMerged);
    if (at == std::string::npos) {
      result.emplace_back(name, values);
      continue;
    }
    const std::int64_t part = values.size(0) / 3;
    std::int64_t begin = 0;
    for (const char* word : {".query.", ".key.", ".value."}) {
      std::string hugging_face = name;
      hugging_face.replace(at, kMerged.size(), word);
      result.emplace_back(hugging_face, values.slice(0, begin, begin + part));
      begin += part;
    }
  }
  return result;
}

LoadReport load_weights(Bert& model, const std::string& path) {
  const at::NoGradGuard no_grad;
  std::map<std::string, Tensor> wanted;
  for (auto& [name, values] : named_weights(model)) wanted.emplace(name, values);

  LoadReport report;
  SafetensorsReader file(path);
  for (const SafetensorsEntry& entry : file.header().entries) {
    const auto found = wanted.find(modern_name(entry.name));
    if (found == wanted.end()) {
      // A buffer of 0, 1, 2, ... that some versions of transformers stored.
      if (!entry.name.ends_with("embeddings.position_ids")) report.unexpected.push_back(entry.name);
      continue;
    }
    Tensor& values = found->second;
    if (values.sizes() != at::IntArrayRef(entry.shape)) {
      report.misshaped.push_back(concat(entry.name, ": ", shape_text(entry.shape), " in the file, ",
                                        shape_text(values.sizes()), " here"));
    } else {
      Tensor stored = at::empty(entry.shape, scalar_type(entry, path));
      file.read(entry, stored.data_ptr());
      values.copy_(stored);
    }
    wanted.erase(found);
  }
  for (const auto& [name, values] : wanted) report.missing.push_back(name);
  model.parameters_changed();
  return report;
}

void save_weights(const Bert& model, const std::string& path) {
  std::vector<SafetensorsItem> items;
  for (const auto& [name, values] : named_weights(model)) {
    items.push_back({name, "F32", values.sizes().vec(), values.const_data_ptr()});
  }
  write_safetensors(path, std::move(items));
}

std::vector<std::pair<std::string, std::string>> model_texts(const BertConfig& config,
                                                             const TokenizerFiles& tokenizer) {
  std::string lines;
  for (const std::string& token : tokenizer.vocabulary) lines += token + "\n";
  return {{"config.json", config_json(config)},
          {"tokenizer_config.json", tokenizer_json(tokenizer)},
          {"vocab.txt", lines}};
}

void save_model(const Bert& model, const TokenizerFiles& tokenizer, const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path target(folder);
  const fs::path part = concat(folder, ".part-", ::getpid());
  const fs::path old = concat(folder, ".old-", ::getpid());
  try {
    fs::remove_all(part);
    fs::create_directories(part);
    save_weights(model, (part / "model.safetensors").string());
    for (const auto& [name, text] : model_texts(model.config(), tokenizer)) {
      write_text(part / name, text);
    }
    if (fs::exists(target)) fs::rename(target, old);
    fs::rename(part, target);
    fs::remove_all(old);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, concat("cannot save the model: ", error.what()));
  }
}

}  // namespace bp::trainer
