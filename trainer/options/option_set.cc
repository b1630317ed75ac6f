#include "trainer/options/option_set.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "base/home_path.h"
#include "base/nearest.h"
#include "base/text.h"
#include "bp/version.h"
#include "trainer/data/input_error.h"
#include "trainer/options/help_format.h"
#include "trainer/options/help_request.h"
#include "trainer/options/option_value.h"
#include "trainer/options/other_names.h"

namespace bp::trainer {
namespace {

bool positional(const std::string& name) {
  return std::isupper(static_cast<unsigned char>(name.front())) != 0;
}
std::string spelled(const std::string& name) { return positional(name) ? name : "--" + name; }

}  // namespace

OptionSet::OptionSet(const std::string& command,
                     const std::string& about,
                     const std::string& footer)
    : command_(command), app_(std::make_unique<CLI::App>(about, command)), about_(about) {
  app_->set_help_flag("-h,--help", "Print this text, one topic of it, or all as JSON, and end")
      ->type_name("[TOPIC|json]");
  app_->set_version_flag("--version", "bert_train " BP_VERSION, "Print the version and end");
  app_->footer(footer);
  app_->formatter(std::make_shared<HelpFormat>());
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}
OptionSet::~OptionSet() = default;

void OptionSet::group(const std::string& heading) { group_ = heading; }

OptionSet::Entry& OptionSet::add(Entry entry, const std::string& type) {
  const CLI::Option& option = *entry.option;
  entry.described = {.name = entry.text.name,
                     .type = type,
                     .topic = lower_case(group_),
                     .value = option.get_type_name(),
                     .default_value = option.get_default_str(),
                     .help = entry.text.help,
                     .suggested = entry.text.suggested,
                     .positional = positional(entry.text.name)};
  return entries_.emplace_back(std::move(entry));
}

void OptionSet::mention(const OptionText& text) {
  app_->add_option(spelled(text.name), text.help)->group(group_)->type_name(text.value_name);
  mentioned_.push_back({.name = text.name,
                        .type = "text",
                        .topic = lower_case(group_),
                        .value = text.value_name,
                        .help = text.help,
                        .suggested = text.suggested});
}

void OptionSet::text(const OptionText& text, std::string& target) {
  optional_text(text, target);
  if (positional(text.name)) entries_.back().option->required();
}

void OptionSet::optional_text(const OptionText& text, std::string& target) {
  CLI::Option* option = app_->add_option(spelled(text.name), target, text.help);
  option->group(group_)->type_name(positional(text.name) ? "" : text.value_name);
  const std::string shown = text.shown_default.empty() ? target : text.shown_default;
  if (!shown.empty()) option->default_str(shown);
  add({text, option, [&target] { return target; },
       [&target](const std::string& value) { target = value; }},
      "text");
}

void OptionSet::path(const OptionText& text, std::string& target) {
  this->text(text, target);
  entries_.back().described.type = "path";
  after_.push_back({text.name, [&target] { target = expand_home(target); }});
}

void OptionSet::optional_path(const OptionText& text, std::string& target) {
  optional_text(text, target);
  entries_.back().described.type = "path";
  after_.push_back({text.name, [&target] { target = expand_home(target); }});
}

void OptionSet::positional_paths(const OptionText& text, std::vector<std::string>& target) {
  CLI::Option* option = app_->add_option(text.name, target, text.help);
  option->group(group_)->type_name("")->required()->take_all();
  add({text, option,
       [&target] {
         std::string all;
         for (const std::string& path : target) {
           all += concat(all.empty() ? "" : " ", path);
         }
         return all;
       },
       [&target](const std::string& value) { target.push_back(value); }},
      "paths")
      .described.repeatable = true;
  after_.push_back({text.name, [&target] {
                      for (std::string& path : target) path = expand_home(path);
                    }});
}

void OptionSet::list(const OptionText& text, std::vector<std::string>& target) {
  std::string& chosen = chosen_.emplace_back();
  CLI::Option* option = app_->add_option(spelled(text.name), chosen, text.help);
  option->group(group_)->type_name("NAME,...");
  if (!text.shown_default.empty()) option->default_str(text.shown_default);
  after_.push_back({text.name, [&target, &chosen, option, name = text.name] {
                      if (option->count() > 0) target = parse_list(spelled(name), chosen);
                    }});
  add({text, option, [&chosen] { return chosen; }}, "list");
}

void OptionSet::paths(const OptionText& text, std::vector<std::string>& target) {
  CLI::Option* option = app_->add_option(spelled(text.name), text.help)->expected(1);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option->group(group_)->type_name(text.value_name);
  after_.push_back({text.name, [this, &target, option, name = text.name] {
                      if (option->count() == 0) return;
                      target = parse_list(spelled(name), joined(name));
                      for (std::string& path : target) path = expand_home(path);
                    }});
  Entry& entry = add({text, option, [this, name = text.name] { return joined(name); }}, "paths");
  entry.is_list = true;
  entry.described.repeatable = true;
}

// Returns the values of a list with commas between them. Those of a file count only if the command
// line has none.
std::string OptionSet::joined(const std::string& name) const {
  const auto entry = std::ranges::find(entries_, name, [](const Entry& e) { return e.text.name; });
  const std::vector<std::string>& values = entry->option->results();
  const std::size_t first = entry->preset && values.size() > 1 ? 1 : 0;
  std::string text;
  for (std::size_t i = first; i < values.size(); ++i) text += (i > first ? "," : "") + values[i];
  return text;
}

void OptionSet::flag(const OptionText& text, bool& target) {
  CLI::Option* option = app_->add_flag(spelled(text.name), target, text.help)->group(group_);
  add({text, option, [&target] { return target ? "true" : "false"; }}, "flag").is_flag = true;
}

template <class Number>
void OptionSet::number(const OptionText& text, Number& target, double least, double most) {
  std::string& chosen = chosen_.emplace_back();
  CLI::Option* option = app_->add_option(spelled(text.name), chosen, text.help);
  option->group(group_)->type_name("N");
  option->default_str(text.shown_default.empty() ? number_text(target) : text.shown_default);
  const std::string name = text.name;
  after_.push_back(
      {name, [this, &target, &chosen, option, name, least, most] {
         if (option->count() == 0) return;
         target = parse_number<Number>({spelled(name), chosen, help_hint()}, least, most);
       }});
  Entry& entry =
      add({text, option,
           [&target, least] { return double(target) < least ? "" : number_text(target); }},
          std::is_floating_point_v<Number> ? "number" : "integer");
  entry.described.least = least;
  if (most < kUnbounded) entry.described.most = most;
}
template void OptionSet::number(const OptionText&, int&, double, double);
template void OptionSet::number(const OptionText&, std::int64_t&, double, double);
template void OptionSet::number(const OptionText&, std::uint64_t&, double, double);
template void OptionSet::number(const OptionText&, double&, double, double);

template <class Number>
void OptionSet::numbers(const OptionText& text,
                        PerEpoch<Number>& target,
                        double least,
                        double most) {
  std::string& chosen = chosen_.emplace_back();
  CLI::Option* option = app_->add_option(spelled(text.name), chosen, text.help);
  option->group(group_)->type_name("N,...");
  option->default_str(text.shown_default.empty() ? number_text(target.first())
                                                 : text.shown_default);
  const std::string name = text.name;
  after_.push_back(
      {name, [this, &target, &chosen, option, name, least, most] {
         if (option->count() == 0) return;
         std::vector<Number> values;
         for (const std::string& one : parts_of(chosen)) {
           values.push_back(parse_number<Number>({spelled(name), one, help_hint()}, least, most));
         }
         target = PerEpoch<Number>(std::move(values));
       }});
  const auto all_values = [&target, least] {
    std::string all;
    for (const Number value : target.values()) {
      if (double(value) < least) return std::string();
      all += (all.empty() ? "" : ",") + number_text(value);
    }
    return all;
  };
  Entry& entry = add({text, option, all_values}, "list");
  entry.described.least = least;
  if (most < kUnbounded) entry.described.most = most;
}
template void OptionSet::numbers(const OptionText&, PerEpoch<int>&, double, double);
template void OptionSet::numbers(const OptionText&, PerEpoch<double>&, double, double);

void OptionSet::add_choice(const OptionText& text,
                           const std::vector<std::string>& names,
                           const std::string& now,
                           std::function<void(const std::string&)> set) {
  std::string& chosen = chosen_.emplace_back(now);
  std::string listed;
  for (const std::string& name : names) listed += (listed.empty() ? "" : "|") + name;
  CLI::Option* option = app_->add_option(spelled(text.name), chosen, text.help);
  option->group(group_)->type_name(listed)->default_str(now);
  const std::string name = text.name;
  after_.push_back({name, [this, &chosen, names, name, listed, set = std::move(set)] {
                      if (std::find(names.begin(), names.end(), chosen) == names.end()) {
                        const std::string nearest = nearest_name(chosen, names);
                        throw InputError(
                            2, concat(spelled(name), ": '", chosen, "' is none of ", listed),
                            nearest.empty() ? help_hint()
                                            : concat("did you mean '", nearest, "'?"));
                      }
                      set(chosen);
                    }});
  add({text, option, [&chosen] { return chosen; }}, "choice").described.choices = names;
}

void OptionSet::preset(const std::vector<ConfigValue>& values, const std::string& origin) {
  preset_origin_ = origin;
  std::vector<std::string> keys;
  for (const Entry& entry : entries_) keys.push_back(lower_case(entry.text.name));
  for (const ConfigValue& value : values) {
    const auto found = std::find(keys.begin(), keys.end(), value.key);
    if (found == keys.end()) {
      const std::string hint = hint_for_option(value.key, keys);
      throw InputError(2, concat(value.place, ": unknown key '", value.key, "'"),
                       hint.empty() ? help_hint() : hint);
    }
    if (value.value.empty() || value.key == "config") continue;
    Entry& entry = entries_[static_cast<std::size_t>(found - keys.begin())];
    entry.preset = true;
    entry.place = value.place;
    if (entry.is_flag && !means_true_or_false(value.value)) {
      throw InputError(
          2,
          concat(value.place, ": ", value.key, ": '", value.value, "' is neither true nor false"),
          concat("write ", value.key, ": true"));
    }
    if (positional(entry.text.name)) {
      entry.option->required(false);
      entry.assign(value.value);
    } else {
      preset_arguments_.push_back(concat("--", value.key, "=", value.value));
    }
  }
}

std::string OptionSet::parse(const std::vector<std::string>& arguments) {
  if (const HelpRequest request = help_in(arguments); request.asked) return help(request.topic);
  try {
    std::vector<std::string> all = preset_arguments_;
    all.insert(all.end(), arguments.begin(), arguments.end());
    app_->parse(std::vector<std::string>(all.rbegin(), all.rend()));
  } catch (const CLI::CallForVersion& version) {
    return concat(version.what(), "\n");
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app_->remaining(true));
  } catch (const CLI::RequiredError& error) {
    for (const std::string& word : app_->remaining(true)) {
      if (word == "--") break;
      if (word.starts_with("-")) refuse_unknown(word);  // the likelier mistake: --hlep
    }
    throw InputError(2, concat("an argument is missing: ", error.what()), help_hint());
  } catch (const CLI::ParseError& error) {
    throw InputError(2, error.what(), help_hint());
  }
  for (const Step& step : after_) use(step.option, step.run);
  return "";
}

std::string OptionSet::help_hint() const { return command_ + " --help lists all options"; }

void OptionSet::use(const std::string& name, const std::function<void()>& use) const {
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& e) { return e.text.name == name; });
  const bool preset =
      entry != entries_.end() && entry->preset && origin_of(*entry) == preset_origin_;
  try {
    use();
  } catch (const InputError& error) {
    if (!preset) throw;
    throw InputError(error.exit_code(), concat(entry->place, ": ", error.what()), error.hint());
  }
}

// The list has -- itself if that ended the options.
void OptionSet::refuse_extras(const std::vector<std::string>& extras) const {
  const std::string& first = extras.front();
  if (first != "--" || extras.size() == 1) refuse_unknown(first);
  throw InputError(2, concat("unexpected argument '", extras[1], "' after --"),
                   extras[1].starts_with("-") ? "options stand before --" : help_hint());
}

void OptionSet::refuse_unknown(const std::string& argument) const {
  if (!argument.starts_with("-")) {
    throw InputError(2, concat("unexpected argument '", argument, "'"),
                     has("also") ? "more files of rows are given with --also FILE" : help_hint());
  }
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> names = {"help"};
  for (const Entry& entry : entries_) {
    if (!positional(entry.text.name)) names.push_back(entry.text.name);
  }
  std::string hint = hint_for_option(name, names);
  if (std::error_code ignored; std::filesystem::exists(argument, ignored)) {
    hint = concat("the path of a file or folder that begins with - is written ./", argument);
  }
  throw InputError(2, concat("unknown option ", name), hint.empty() ? help_hint() : hint);
}

// CLI11 counts a preset option once, before those of the command line.
std::string OptionSet::origin_of(const Entry& entry) const {
  const std::size_t presets = entry.preset && !positional(entry.text.name) ? 1 : 0;
  if (entry.option->count() > presets) return "command line";
  return entry.preset ? preset_origin_ : "default";
}

std::vector<Setting> OptionSet::settings() const {
  std::vector<Setting> settings;
  for (const Entry& entry : entries_) {
    settings.push_back({lower_case(entry.text.name), entry.value(), origin_of(entry)});
  }
  return settings;
}

std::vector<std::string> OptionSet::arguments(const std::vector<Setting>& settings) const {
  std::vector<std::string> arguments;
  for (const Entry& entry : entries_) {
    const auto same = std::ranges::find(settings, lower_case(entry.text.name), &Setting::key);
    if (same == settings.end() || same->value.empty()) continue;
    if (entry.is_flag && same->value != "true") continue;
    arguments.push_back("--" + entry.text.name);
    if (!entry.is_flag) arguments.push_back(same->value);
  }
  return arguments;
}

void OptionSet::require(const std::string& name) const {
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& e) { return e.text.name == name; });
  if (entry != entries_.end() && !entry->value().empty()) return;
  throw InputError(2, concat(spelled(name), " is missing"), help_hint());
}

bool OptionSet::has(const std::string& name) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) { return entry.text.name == name; });
}

bool OptionSet::given(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.text.name == name && entry.option->count() > 0;
  });
}

}  // namespace bp::trainer
