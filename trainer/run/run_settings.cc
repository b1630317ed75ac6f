#include "trainer/run/run_settings.h"

#include <yaml-cpp/yaml.h>

#include "base/text.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {

std::string settings_yaml(const std::vector<Setting>& settings) {
  YAML::Emitter out;
  out << YAML::Comment("The options of this run, each with where its value comes from.");
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

}  // namespace bp::trainer
