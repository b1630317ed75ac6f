#include "trainer/train/model_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/nearest.h"
#include "trainer/model/weights.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

const std::string kFolderHint =
    "a Hugging Face folder has config.json, and vocab.txt and model.safetensors to start from "
    "weights";

// What is wrong inside a folder is bad content; what can't be read, 66.
template <class Body>
auto as_input_error(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw InputError(error.code() == ErrorCode::io ? 66 : 65, error.what(), kFolderHint);
  }
}

bool lower_case_of(const std::string& folder) {
  std::ifstream in(folder + "/tokenizer_config.json");
  const auto json = nlohmann::json::parse(in, nullptr, false);
  return !json.is_object() || json.value("do_lower_case", true);
}

// "classifier.bias, classifier.weight and 3 more"
std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kShown) text += concat(" and ", names.size() - kShown, " more");
  return text;
}

// A head for other labels is made anew; without any other part there is nothing to start from.
bool replaceable(const std::string& name) {
  return name.starts_with("classifier.") || name.starts_with("bert.pooler.") ||
         name.starts_with("pooler.");
}

void refuse_unless_replaceable(const std::vector<std::string>& names,
                               const std::string& path,
                               const char* what) {
  const bool fine = std::all_of(names.begin(), names.end(), replaceable);
  if (!fine) throw InputError(65, concat(path, " ", what, ": ", list(names)), kFolderHint);
}

}  // namespace

ModelSource find_model(const std::string& model) {
  ModelSource source;
  source.name = model;
  if (const auto config = preset(model)) {
    source.config = *config;
    return source;
  }
  if (!fs::is_directory(model)) {
    const std::string nearest = nearest_name(model, preset_names());
    throw InputError(2, concat("--model: '", model, "' is neither a preset nor a folder"),
                     nearest.empty() ? "presets are tiny, mini, small, medium, base and large"
                                     : concat("did you mean '", nearest, "'?"));
  }
  source.config = as_input_error([&] { return read_config(model + "/config.json"); });
  const auto existing = [&](const char* name) {
    const std::string path = model + "/" + name;
    return fs::exists(path) ? path : "";
  };
  source.weights = existing("model.safetensors");
  source.vocabulary = existing("vocab.txt");
  source.lower_case = lower_case_of(model);
  return source;
}

std::unique_ptr<Bert> make_model(const ModelSource& source,
                                 const Options& options,
                                 const SampleStore& store,
                                 const std::function<void(const std::string&)>& say) {
  if (store.labels().size() < 2) {
    throw InputError(65, concat("all samples have the same label, '", store.labels().front(), "'"),
                     "there is nothing to learn; is --label the right column?");
  }
  BertConfig config = source.config;
  const auto words = static_cast<int>(store.vocabulary().size());
  if (source.pretrained() && config.vocabulary < words) {
    throw InputError(65,
                     concat("the vocabulary has ", words, " tokens, the model ", source.name,
                            " only ", config.vocabulary),
                     "use the vocabulary that the model was trained with: --vocab");
  }
  if (!source.pretrained()) config.vocabulary = words;
  if (store.max_length() > config.positions) {
    throw InputError(2,
                     concat("samples of up to ", store.max_length(), " tokens, but the model ",
                            source.name, " has ", config.positions, " positions"),
                     concat("choose --max-length ", config.positions, " or less"));
  }
  config.pad_id = store.pad_id();
  config.labels = store.labels();
  if (options.dropout >= 0) {
    config.hidden_dropout = options.dropout;
    config.attention_dropout = options.dropout;
    config.classifier_dropout.reset();
  }
  auto model = std::make_unique<Bert>(std::move(config), options.precision, options.seed);
  if (!source.pretrained()) return model;

  const LoadReport report = as_input_error([&] { return load_weights(*model, source.weights); });
  refuse_unless_replaceable(report.missing, source.weights, "lacks weights");
  refuse_unless_replaceable(report.misshaped, source.weights, "has weights of other shapes");
  if (!report.missing.empty()) say(concat("new in the model: ", list(report.missing)));
  if (!report.misshaped.empty()) say(concat("made anew: ", list(report.misshaped)));
  if (!report.unexpected.empty()) say(concat("not used: ", list(report.unexpected)));
  return model;
}

std::unique_ptr<Bert> load_model(const ModelSource& source) {
  if (!source.pretrained()) {
    throw InputError(66, concat("no model.safetensors in ", source.name), kFolderHint);
  }
  if (source.config.labels.empty()) {
    throw InputError(65, concat(source.name, "/config.json names no labels (id2label)"),
                     "only a model for classification can be scored");
  }
  auto model = std::make_unique<Bert>(source.config, Precision::fp32, 0);
  const LoadReport report = as_input_error([&] { return load_weights(*model, source.weights); });
  if (!report.missing.empty()) {
    throw InputError(65, concat(source.weights, " lacks weights: ", list(report.missing)),
                     kFolderHint);
  }
  if (!report.misshaped.empty()) {
    throw InputError(
        65, concat(source.weights, " has weights of other shapes: ", list(report.misshaped)),
        kFolderHint);
  }
  return model;
}

}  // namespace bp::trainer
