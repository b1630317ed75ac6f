#include "trainer/model/weights.h"

#include <ATen/core/Tensor.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/whole_file.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/safetensors.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

// Parameters that a model has only in training: Bert::add_projection().
constexpr std::string_view kTrainingOnly = "distillation.";

// A temporary folder, which the destructor removes under its name: the new folder, or after an
// exchange the old one.
class PartFolder {
 public:
  explicit PartFolder(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  ~PartFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Replaces `target` by `part`. The old target is afterwards at the name of `part`, or, on a file
// system that cannot exchange two names (NFS), at `old`; there, `target` is absent for a moment.
void put_in_place(const fs::path& part, const fs::path& target, const fs::path& old) {
  if (fs::exists(target)) {
    if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS) {
      throw fs::filesystem_error("cannot exchange", part, target,
                                 std::error_code(errno, std::generic_category()));
    }
    fs::rename(target, old);
  }
  fs::rename(part, target);
}

// Returns the names of the family in which this is a parameter of query, key and value as one, or
// null if there is none.
const WeightNames* names_with_merged(std::string_view parameter) {
  for (const Family* const family : families()) {
    const WeightNames& names = family->names;
    if (names.qkv.size() == 1) continue;  // files have them as one, too
    if (parameter.find("." + names.merged_qkv + ".") != std::string_view::npos) return &names;
  }
  return nullptr;
}

}  // namespace

NamedTensors hugging_face_names(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor values = tensor.detach();
    const WeightNames* const names = names_with_merged(name);
    if (names == nullptr) {
      result.emplace_back(name, values);
      continue;
    }
    const std::int64_t part = values.size(0) / 3;
    std::int64_t begin = 0;
    for (const std::string& module : names->qkv) {
      std::string other = name;
      other.replace(name.find(names->merged_qkv), names->merged_qkv.size(), module);
      result.emplace_back(other, values.slice(0, begin, begin + part));
      begin += part;
    }
  }
  return result;
}

NamedTensors named_weights(const Bert& model) {
  NamedTensors base = model.parameters();
  std::erase_if(base, [](const auto& parameter) { return is_adapter(parameter.first); });
  return hugging_face_names(base);
}

NamedTensors on_cpu(NamedTensors tensors) {
  for (auto& [name, tensor] : tensors) tensor = tensor.detach().cpu();
  return tensors;
}

NamedTensors saved_parameters(const Bert& model) {
  NamedTensors saved = model.parameters();
  if (const LoraConfig* const lora = model.lora()) {
    std::erase_if(saved, [lora](const auto& parameter) { return !lora->saves(parameter.first); });
  }
  return saved;
}

NamedTensors saved_tensors(const Bert& model, const NamedTensors& tensors) {
  const LoraConfig* const lora = model.lora();
  if (lora == nullptr) return hugging_face_names(tensors);
  NamedTensors saved;
  for (const auto& [name, values] : tensors) {
    if (lora->saves(name)) saved.emplace_back(concat(kAdapterPrefix, name), values.detach());
  }
  return saved;
}

const char* weights_file(const Bert& model) {
  return model.lora() == nullptr ? "model.safetensors" : kAdapterWeightsFile;
}

void save_weights(const Bert& model, const std::string& path) {
  std::vector<SafetensorsItem> items;
  const NamedTensors saved = on_cpu(saved_tensors(model, model.parameters()));
  for (const auto& [name, values] : saved) {
    if (name.starts_with(kTrainingOnly)) continue;
    items.push_back({name, "F32", values.sizes().vec(), values.const_data_ptr()});
  }
  write_safetensors(path, std::move(items));
}

NamedTexts model_texts(const Bert& model, NamedTexts texts) {
  texts.insert(texts.begin(), {"config.json", config_json(model.config())});
  if (const LoraConfig* const lora = model.lora()) {
    texts.emplace_back(kAdapterConfigFile, adapter_config_json(*lora));
    if (!lora->base_hash.empty()) texts.emplace_back(kAdapterBaseFile, adapter_base_json(*lora));
  }
  return texts;
}

void save_model(const Bert& model, const NamedTexts& tokenizer, const std::string& folder) {
  const fs::path target(folder);
  const fs::path old = concat(folder, ".old-", ::getpid());
  try {
    const PartFolder part(concat(folder, ".part-", ::getpid()));
    save_weights(model, (part.path() / weights_file(model)).string());
    for (const auto& [name, text] : model_texts(model, tokenizer)) {
      // Also syncs the folder with all earlier names.
      write_whole_file((part.path() / name).string(), text);
    }
    put_in_place(part.path(), target, old);
    sync_folder(target.parent_path().string());
    fs::remove_all(old);
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::io, concat("cannot save the model: ", error.what()));
  }
}

}  // namespace bp::trainer
