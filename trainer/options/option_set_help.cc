// The help of an OptionSet: all of it, one topic, or JSON.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/options/help_format.h"
#include "trainer/options/help_json.h"
#include "trainer/options/option_set.h"

namespace bp::trainer {
namespace {

std::string with_commas(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += concat(text.empty() ? "" : ", ", word);
  return text;
}

}  // namespace

std::vector<std::string> OptionSet::topics() const {
  std::vector<std::string> topics;
  for (const Entry& entry : entries_) {
    const std::string& topic = entry.described.topic;
    if (!entry.described.positional && std::ranges::count(topics, topic) == 0) {
      topics.push_back(topic);
    }
  }
  return topics;
}

std::string OptionSet::help(const std::string& topic) const {
  if (topic == "json") return help_json(Json::array({to_json(describe())}));
  const std::vector<std::string> known = topics();
  const std::string listed = concat("\nTopics (--help TOPIC):\n  ", with_commas(known), "\n");
  if (topic.empty()) return known.size() < 2 ? app_->help() : concat(app_->help(), listed);
  const std::string wanted = lower_case(topic);
  if (std::ranges::count(known, wanted) == 0) {
    const std::string nearest = nearest_name(wanted, known);
    throw InputError(2, concat("--help: there is no topic '", topic, "'"),
                     nearest.empty() ? concat("the topics: ", with_commas(known),
                                              known.empty() ? "json" : ", json")
                                     : concat("did you mean '", nearest, "'?"));
  }
  std::string text;
  for (const Entry& entry : entries_) {
    if (entry.described.topic != wanted || entry.described.positional) continue;
    if (text.empty()) text = concat(entry.option->get_group(), ":\n");
    text += HelpFormat().make_option(entry.option, false);
  }
  return concat(text, listed);
}

CommandDescription OptionSet::describe() const {
  CommandDescription command{command_, about_, mentioned_};
  for (const Entry& entry : entries_) {
    command.options.push_back(entry.described);
    command.options.back().required = entry.option->get_required();
  }
  return command;
}

}  // namespace bp::trainer
