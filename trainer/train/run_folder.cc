#include "trainer/train/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <yaml-cpp/yaml.h>

#include "bp/error.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

std::string value_of(const std::vector<Setting>& settings, const std::string& key) {
  for (const Setting& setting : settings) {
    if (setting.key == key) return setting.value;
  }
  return "";
}

}  // namespace

std::string default_run(const std::string& data) {
  return (fs::path("runs") / fs::path(data).stem()).string();
}

RunFolder RunFolder::create(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) {
    throw InputError(2, concat("the run's folder ", path, " is already there"),
                     "choose another with --run, or remove it");
  }
  fs::create_directories(path, error);
  if (error) {
    throw Error(ErrorCode::io,
                concat("cannot create the run's folder ", path, ": ", error.message()));
  }
  return RunFolder(path);
}

void RunFolder::remove_if_empty() const {
  ::rmdir(path_.c_str());  // leaves a folder with anything in it alone
}

std::string settings_yaml(const std::vector<Setting>& settings) {
  YAML::Emitter out;
  out << YAML::Comment("The options of this run; behind each, where it comes from.");
  out << YAML::BeginMap;
  for (const Setting& setting : settings) {
    out << YAML::Key << setting.key << YAML::Value << setting.value
        << YAML::Comment(setting.origin);
  }
  out << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

std::vector<Setting> read_settings(const std::string& path) {
  try {
    std::vector<Setting> settings;
    for (const auto& entry : YAML::LoadFile(path)) {
      settings.push_back({entry.first.as<std::string>(), entry.second.as<std::string>(""), path});
    }
    return settings;
  } catch (const YAML::Exception& error) {
    throw InputError(65, concat(path, ": ", error.what()), "it was written by bert_train as YAML");
  }
}

std::vector<std::string> inherited_arguments(const std::string& source, const std::string& data) {
  const std::string config = source + "/config.yaml";
  std::vector<std::string> arguments;
  const auto pass = [&](const std::string& key, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {"--" + key, value});
  };
  std::vector<std::string> keys = {"text", "label", "format", "header", "max-length", "long-text"};
  if (!fs::exists(config)) {
    pass("vocab", model_folder(source) + "/vocab.txt");
    return arguments;
  }
  const std::vector<Setting> settings = read_settings(config);
  const bool own = data.empty() || same_file(data, value_of(settings, "data"));
  if (own) {
    keys.insert(keys.end(), {"dev", "test", "split", "vocab", "vocab-size", "store", "seed"});
  } else {
    pass("vocab", model_folder(source) + "/vocab.txt");
    pass("split", "1,0,0");
    pass("on", "train");
  }
  for (const std::string& key : keys) pass(key, value_of(settings, key));
  return arguments;
}

std::string data_of_run(const std::string& source) {
  const std::string config = source + "/config.yaml";
  const std::string data = fs::exists(config) ? value_of(read_settings(config), "data") : "";
  if (!data.empty()) return data;
  throw InputError(2, concat("DATA is missing, and ", source, " names none"),
                   "bert_train eval RUN DATA");
}

std::string model_folder(const std::string& source) {
  for (const std::string& folder : {source + "/model", source}) {
    if (fs::exists(folder + "/config.json")) return folder;
  }
  throw InputError(66, concat("no model in ", source),
                   "a run's folder with model/, or a folder with config.json, model.safetensors "
                   "and vocab.txt");
}

}  // namespace bp::trainer
