#include "trainer/run/run_settings.h"

#include <fstream>
#include <map>

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

std::vector<Setting> read_settings_with_origins(const std::string& path) {
  std::map<std::string, std::string> origins;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t mark = line.rfind("  # ");
    if (mark != std::string::npos) {
      origins[line.substr(0, line.find(':'))] = line.substr(mark + 4);
    }
  }
  std::vector<Setting> settings = read_settings(path);
  for (Setting& setting : settings) setting.origin = origins[setting.key];
  return settings;
}

}  // namespace bp::trainer
