#include "trainer/commands/weight_report.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/text.h"
#include "trainer/data/look_up.h"

namespace bp::trainer {
namespace {

std::vector<std::string> without(const std::vector<std::string>& names,
                                 const std::vector<std::string>& prefixes) {
  std::vector<std::string> result;
  std::copy_if(names.begin(), names.end(), std::back_inserter(result), [&](const std::string& n) {
    return std::none_of(prefixes.begin(), prefixes.end(),
                        [&](const std::string& prefix) { return n.starts_with(prefix); });
  });
  return result;
}

}  // namespace

std::string list_of_weights(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text = concat(names.size(), names.size() == 1 ? " weight: " : " weights: ");
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return text + (names.size() > kShown ? ", ..." : "");
}

void require_weights(const LoadReport& report,
                     const std::string& path,
                     const std::vector<std::string>& replaceable) {
  if (!report.misshaped.empty()) {
    throw InputError(65,
                     concat(path, " has other shapes than config.json says in ",
                            list_of_weights(report.misshaped)),
                     "the two files belong to different models");
  }
  const std::vector<std::string> missing = without(report.missing, replaceable);
  if (missing.empty()) return;
  throw InputError(65, concat(path, " lacks ", list_of_weights(missing)), kModelFolderHint);
}

std::string find_weights(const std::string& folder) {
  for (const char* name : {"/model.safetensors", "/pytorch_model.bin"}) {
    if (path_exists(folder + name)) return folder + name;
  }
  // A user with weights in another format does not want to train from scratch.
  for (const char* name : {"/model.safetensors.index.json", "/pytorch_model.bin.index.json",
                           "/tf_model.h5", "/flax_model.msgpack", "/model.ckpt.index"}) {
    if (!path_exists(folder + name)) continue;
    throw InputError(65, concat("bp cannot read the weights of ", folder + name),
                     "load and save them with transformers as one model.safetensors");
  }
  return "";
}

}  // namespace bp::trainer
