#include "trainer/model/weights.h"

#include <ATen/core/Tensor.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/model/safetensors.h"
#include "trainer/model/tokenizer_config.h"

namespace bp::trainer {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(ErrorCode::io, concat("cannot write ", path.string()));
}

}  // namespace

NamedTensors hugging_face_names(const NamedTensors& tensors) {
  constexpr std::string_view kMerged = ".qkv.";
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor values = tensor.detach();
    const std::size_t at = name.find(kMerged);
    if (at == std::string::npos) {
      result.emplace_back(name, values);
      continue;
    }
    const std::int64_t part = values.size(0) / 3;
    std::int64_t begin = 0;
    for (const char* word : {".query.", ".key.", ".value."}) {
      std::string other = name;
      other.replace(at, kMerged.size(), word);
      result.emplace_back(other, values.slice(0, begin, begin + part));
      begin += part;
    }
  }
  return result;
}

NamedTensors named_weights(const Bert& model) { return hugging_face_names(model.parameters()); }

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
          {"tokenizer_config.json",
           tokenizer_config_json({tokenizer.lower_case, tokenizer.max_length})},
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
