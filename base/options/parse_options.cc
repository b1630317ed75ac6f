// How an OptionSet reads a command line and the values of a file.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "base/nearest.h"
#include "base/options/option_set.h"
#include "base/options/value_text.h"
#include "base/text.h"

namespace bp {
namespace {

constexpr std::string_view kHelp = "--help";
constexpr std::string_view kHelpWithTopic = "--help=";

bool is_on_or_off(const std::string& word) {
  static const std::vector<std::string> kWords{"true", "false", "yes", "no", "on", "off", "1", "0"};
  return std::ranges::count(kWords, lower_case(word)) > 0;
}

}  // namespace

HelpRequest help_in(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with(kHelpWithTopic)) return {true, word.substr(kHelpWithTopic.size())};
    if (word != kHelp && word != "-h") continue;
    const bool topic = i + 1 < arguments.size() && !arguments[i + 1].starts_with('-');
    return {true, topic ? arguments[i + 1] : ""};
  }
  return {};
}

void OptionSet::preset(const std::vector<ConfigValue>& values, const std::string& origin) {
  for (const ConfigValue& value : values) {
    const auto same = std::ranges::find_if(
        options_, [&](const Option& option) { return lower_case(option.name) == value.key; });
    if (same == options_.end() || (!same->assign && value.key != "config")) {
      const std::string hint = hint_for(value.key);
      throw InputError(2, concat(value.place, ": unknown key '", value.key, "'"),
                       hint.empty() ? help_hint() : hint);
    }
    if (value.value.empty() || value.key == "config") continue;
    if (same->type == "flag" && !is_on_or_off(value.value)) {
      throw InputError(
          2,
          concat(value.place, ": ", value.key, ": '", value.value, "' is neither true nor false"),
          concat("write ", value.key, ": true"));
    }
    presets_[same->name] = {.values = {value.value}, .origin = origin, .place = value.place};
  }
}

std::string OptionSet::parse(const std::vector<std::string>& arguments) {
  if (!ends_at_program_) {
    if (const HelpRequest request = help_in(arguments); request.asked) return help(request.topic);
  }
  if (std::string text = take_words(arguments); !text.empty()) return text;
  assign_all();
  check_needs();
  return "";
}

// Returns what to print instead, for help and the version.
std::string OptionSet::take_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> positional;
  std::size_t dashes = std::string::npos;  // how many of them are before "--"
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool ended = dashes != std::string::npos;
    if (ends_at_program_ && (word.size() < 2 || word.front() != '-' || word == "--")) {
      rest_.assign(arguments.begin() + std::ptrdiff_t(i + (word == "--" ? 1 : 0)), arguments.end());
      break;
    }
    if (ended || word.size() < 2 || word.front() != '-') {
      positional.push_back(word);
      continue;
    }
    if (word == "--") {
      dashes = positional.size();
      continue;
    }
    if (help_in({word}).asked) {
      return help(help_in({arguments.begin() + std::ptrdiff_t(i), arguments.end()}).topic);
    }
    if (word == "--version") return version_ + "\n";
    const auto [option, value] = find(word);
    if (option == nullptr) refuse_unknown(word);
    if (value || !option->bare.empty()) {
      take(*option, value.value_or(option->bare));
    } else if (i + 1 < arguments.size()) {
      take(*option, arguments[++i]);
    } else {
      throw InputError(2, concat(option->spelled(), ": 1 required ", option->value, " missing"),
                       help_hint());
    }
  }
  take_positional(positional, dashes);
  return "";
}

// The option that the word begins: --batch, --batch=3, -n4, or one of its aliases.
OptionSet::Found OptionSet::find(const std::string& word) const {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  for (const Option& option : options_) {
    if (option.positional) continue;
    if (name != option.spelled() && std::ranges::count(option.aliases, name) == 0) continue;
    if (equals == std::string::npos) return {&option, {}};
    return {&option, word.substr(equals + 1)};
  }
  for (const Option& option : options_) {
    const std::string& letter = option.name.size() == 1 ? option.name : option.letter;
    if (option.positional || letter.empty() || word[1] != letter.front()) continue;
    if (word.size() == 2) return {&option, {}};
    if (option.type != "flag") return {&option, word.substr(2)};
  }
  return {};
}

void OptionSet::take(const Option& option, const std::string& value) {
  Given& given = given_[option.name];
  if (!option.repeatable && !given.values.empty()) {
    throw InputError(2, concat(option.spelled(), " is given twice"), "leave out one of the two");
  }
  given.values.push_back(value);
  given.origin = "command line";
}

void OptionSet::take_positional(const std::vector<std::string>& words, std::size_t dashes) {
  std::size_t next = 0;
  for (const Option& option : options_) {
    if (!option.positional) continue;
    while (next < words.size() && (option.repeatable || !given_.contains(option.name))) {
      take(option, words[next++]);
    }
    if (option.required && !given(option.name)) {
      throw InputError(2, concat("an argument is missing: ", option.name, " is required"),
                       help_hint());
    }
  }
  if (next == words.size()) return;
  const std::string& word = words[next];
  if (next >= dashes) {
    throw InputError(2, concat("unexpected argument '", word, "' after --"),
                     word.starts_with("-") ? "options stand before --" : help_hint());
  }
  const bool more = std::ranges::count(options_, "also", &Option::name) > 0;
  throw InputError(2, concat("unexpected argument '", word, "'"),
                   more ? "more files of rows are given with --also FILE" : help_hint());
}

void OptionSet::assign_all() {
  for (Option& option : options_) {
    const auto typed = given_.find(option.name);
    const auto preset = presets_.find(option.name);
    if (!option.assign || (typed == given_.end() && preset == presets_.end())) continue;
    const Given& from = typed == given_.end() ? preset->second : typed->second;
    try {
      option.now = option.assign(from.values);
    } catch (const InputError& error) {
      if (from.place.empty()) throw;
      throw InputError(error.exit_code(), concat(from.place, ": ", error.what()), error.hint());
    }
  }
}

// A value of a file counts if it is not the default, because the config.yaml of a run has all
// options, and if the command line does not set what the option needs.
void OptionSet::check_needs() const {
  for (const Option& option : options_) {
    if (!option.needs || !given(option.name) || option.now == "false") continue;
    const Need& need = *option.needs;
    const Option& needed = *std::ranges::find(options_, need.option, &Option::name);
    const bool of_file = !given_.contains(option.name);
    if (of_file && (option.now == option.usual || given_.contains(needed.name))) continue;
    if (need.values.empty()) {
      if (!needed.now.empty() && needed.now != "0") continue;
      throw InputError(
          2, concat(option.spelled(), " has no effect without ", needed.spelled()),
          concat("add ", needed.spelled(), " ", need.choice, ", or leave out ", option.spelled()));
    }
    if (std::ranges::count(need.values, needed.now) > 0) continue;
    throw InputError(
        2, concat(option.spelled(), " has no effect with ", needed.spelled(), " ", needed.now),
        concat("leave it out, or choose ", need.choice));
  }
}

std::string OptionSet::nearest_to(const std::string& word) const {
  std::vector<std::string> names = {"help", "version"};
  for (const Option& option : options_) {
    const bool typed = !option.positional && option.name.size() > 1;
    if (typed || (option.positional && !word.starts_with("-"))) {
      names.push_back(lower_case(option.name));
    }
  }
  const std::string nearest = nearest_name(option_name(word), names);
  return nearest.empty() || !word.starts_with('-') ? nearest : "--" + nearest;
}

std::string OptionSet::hint_for(const std::string& word) const {
  const std::string wanted = option_name(word);
  for (const Option& option : options_) {
    const auto value = value_of_other_name(option.others, wanted);
    if (!value) continue;
    return concat("here it is called ", option.spelled(), value->empty() ? "" : " ", *value);
  }
  const std::string nearest = nearest_to(word);
  return nearest.empty() ? "" : concat("did you mean '", nearest, "'?");
}

void OptionSet::refuse_unknown(const std::string& word) const {
  std::string hint = hint_for(word);
  if (std::error_code ignored; std::filesystem::exists(word, ignored)) {
    hint = concat("the path of a file or folder that begins with - is written ./", word);
  }
  throw UnknownOption(word.substr(0, word.find('=')), nearest_to(word),
                      hint.empty() ? help_hint() : hint);
}

std::vector<Setting> OptionSet::settings() const {
  std::vector<Setting> settings;
  for (const Option& option : options_) {
    if (!option.assign) continue;
    const auto typed = given_.find(option.name);
    const auto preset = presets_.find(option.name);
    settings.push_back({.key = lower_case(option.name),
                        .value = option.now,
                        .origin = typed != given_.end()      ? typed->second.origin
                                  : preset != presets_.end() ? preset->second.origin
                                                             : "default",
                        .on_resume = option.on_resume});
  }
  return settings;
}

bool OptionSet::given(const std::string& name) const {
  return given_.contains(name) || presets_.contains(name);
}

void OptionSet::require(const std::string& name) const {
  const auto same = std::ranges::find(options_, name, &Option::name);
  if (same != options_.end() && !same->now.empty()) return;
  throw InputError(2, concat("--", name, " is missing"), help_hint());
}

}  // namespace bp
