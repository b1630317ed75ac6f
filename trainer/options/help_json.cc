#include "trainer/options/help_json.h"

#include "bp/version.h"

namespace bp::trainer {
namespace {

Json option_json(const OptionDescription& option) {
  Json json{{"name", option.name},
            {"type", option.type},
            {"topic", option.topic},
            {"value", option.value},
            {"default", option.default_value},
            {"help", option.help},
            {"positional", option.positional},
            {"required", option.required},
            {"repeatable", option.repeatable}};
  if (!option.choices.empty()) json["choices"] = option.choices;
  if (!option.suggested.empty()) json["suggested"] = option.suggested;
  if (option.least) json["least"] = number(*option.least);
  if (option.most) json["most"] = number(*option.most);
  return json;
}

}  // namespace

Json to_json(const CommandDescription& command) {
  Json options = Json::array();
  for (const OptionDescription& option : command.options) options.push_back(option_json(option));
  return {{"command", command.command}, {"about", command.about}, {"options", options}};
}

std::string help_json(const Json& commands) {
  return Json{{"program", "bert_train"}, {"version", BP_VERSION}, {"commands", commands}}.dump(2) +
         "\n";
}

}  // namespace bp::trainer
