// The options of one command: a table of rows with typed targets, from which come the parsing of a
// command line, --help, --help=json, completion, and a record of every value with its origin.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/options/setting.h"

namespace bp {

// The value of another option, without which an option has no effect and is refused.
struct Need {
  std::string option;                    // "lora"
  std::string choice;                    // for the hint: "8", or what to choose if there are values
  std::vector<std::string> values = {};  // it has one of these; none: any that is not off
};

// A row of the table of a command's options.
struct Option {
  std::string name;  // "batch"; one letter: behind one dash; a positional argument is in capitals
  std::string letter = {};         // "q", for -q beside --quiet
  std::string type = {};           // text, path, list, paths, flag, integer, number, choice, ...
  std::string topic = {};          // "training", as --help takes it
  std::string value = {};          // what --help shows for the value: "DIR"
  std::string default_value = {};  // as --help shows it, perhaps in words
  std::string help = {};
  std::vector<std::string> choices = {};    // all values that there are; empty: others exist
  std::vector<std::string> suggested = {};  // some of the values that there are
  std::optional<double> least = {};
  std::optional<double> most = {};
  bool whole = false;  // its numbers have no fraction
  bool positional = false;
  bool required = false;
  bool repeatable = false;  // it may be given several times
  // What stands for the value where none is given: --kill-silent. A value needs = then.
  std::string bare = {};
  // What other programs call it, perhaps with a value of this one behind =: {"fp16=fp16"}. A user
  // who types such a name is told of this option.
  std::vector<std::string> others = {};
  OnResume on_resume = OnResume::free;
  std::optional<Need> needs = {};
  std::vector<std::string> aliases = {};  // words that mean the same: {"-np", "--num-proc"}

  // Sets the option's target to what was given. Returns it as settings show it.
  std::function<std::string(const std::vector<std::string>&)> assign = {};
  std::string usual = {};  // its default as settings show it; may be empty
  std::string now = {};    // and its value

  [[nodiscard]] std::string spelled() const {  // "--batch", "-n", "DATA"
    return (positional ? "" : name.size() == 1 ? "-" : "--") + name;
  }
};

// A bound of at least this much means that there is none.
inline constexpr double kUnbounded = 1e18;
inline constexpr std::chrono::days kLongestTime{1000};

// How --help shows an option, and how settings name it.
struct OptionText {
  std::string name;  // "batch"; "q,quiet": a letter, too; in capitals: a positional argument
  std::string help;
  std::string shown_default = {};           // instead of the target's value
  std::string value_name = "TEXT";          // of texts
  std::vector<std::string> suggested = {};  // some values of a text, for completion
};

// A value for an option, by its long name, from a file.
struct ConfigValue {
  std::string key;
  std::string value;  // a list as its elements with commas between; empty: ignored
  std::string place;  // "my.yaml, line 3"; may be empty
};

// A command line has an option that its command lacks.
class UnknownOption : public InputError {
 public:
  UnknownOption(const std::string& word, std::string near, const std::string& hint)
      : InputError(2, "unknown option " + word, hint), word_(word), near_(std::move(near)) {}
  [[nodiscard]] const std::string& word() const { return word_; }     // without =VALUE
  [[nodiscard]] const std::string& nearest() const { return near_; }  // "--batch"; may be empty

 private:
  std::string word_;
  std::string near_;
};

// An option does not take a value.
class WrongValue : public InputError {
 public:
  WrongValue(const Option& option, std::string value, const std::string& text, std::string hint)
      : InputError(2, text, std::move(hint)), option_(option), value_(std::move(value)) {}
  [[nodiscard]] const Option& option() const { return option_; }
  [[nodiscard]] const std::string& value() const { return value_; }

 private:
  Option option_;
  std::string value_;
};

class OptionSet {
 public:
  // `command`: what is typed before the options, "bert_train eval".
  OptionSet(std::string command, std::string about, std::string footer = "");
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  // Sets the heading in --help for the options that are added after this call, and what resuming
  // does with them.
  void group(const std::string& heading, OnResume rule = OnResume::free) {
    group_ = heading;
    on_resume_ = rule;
  }
  void on_resume(OnResume rule) { on_resume_ = rule; }
  // Sets what the options need that are added after this call.
  void needs(std::optional<Need> need) { needs_ = std::move(need); }
  // Replaces what --version prints, and the line of usage.
  void version(const std::string& text) { version_ = text; }
  void usage(const std::string& text) { usage_ = text; }
  // Ends the options at the first word that is none, or behind "--". The words from there are
  // another program with its arguments: see rest().
  void end_at_program() { ends_at_program_ = true; }
  [[nodiscard]] bool ends_at_program() const { return ends_at_program_; }

  // Each function adds an option. Its target must live until parse() returns. A positional argument
  // is required, unless its function is for an optional one.
  Option& text(const OptionText& text, std::string& target);
  Option& text(const OptionText& text, std::optional<std::string>& target);
  Option& optional_text(const OptionText& text, std::string& target);
  // The same for a file or folder. A leading ~ is replaced by the user's home (see expand_home).
  Option& path(const OptionText& text, std::string& target);
  Option& path(const OptionText& text, std::optional<std::string>& target);
  Option& optional_path(const OptionText& text, std::string& target);
  // Texts, each behind its own option or as positional arguments.
  Option& texts(const OptionText& text, std::vector<std::string>& target);
  // One or more files as positional arguments; at least one is required.
  Option& positional_paths(const OptionText& text, std::vector<std::string>& target);
  // Names with commas between them. Blanks around them do not count; an empty name and one that
  // occurs twice are refused.
  Option& list(const OptionText& text, std::vector<std::string>& target);
  // Files or folders, each behind its own option or with commas between them.
  Option& paths(const OptionText& text, std::vector<std::string>& target);
  // `given`: what the target becomes.
  Option& flag(const OptionText& text, bool& target, bool given = true);
  // A target below `least` means that nothing was chosen; settings() has no value then.
  template <class Number>
  Option& number(const OptionText& text, Number& target, double least, double most);
  // Numbers with commas between them.
  template <class Number>
  Option& numbers(const OptionText& text, std::vector<Number>& target, double least, double most);
  // A time from `least` to `most`, such as 90m or 1.5h.
  template <class Time>
  Option& duration(const OptionText& text,
                   Time& target,
                   std::chrono::milliseconds least,
                   std::chrono::milliseconds most = kLongestTime);
  // Bytes, such as 64K or 2G.
  Option& size(const OptionText& text, std::uint64_t& target, double least, double most);
  template <class Choice>
  Option& choice(const OptionText& text,
                 Choice& target,
                 const std::vector<std::pair<std::string, Choice>>& choices) {
    std::vector<std::string> names;
    std::string now;
    for (const auto& [name, value] : choices) {
      names.push_back(name);
      if (value == target) now = name;
    }
    return add_choice(text, names, now, [&target, choices](const std::string& chosen) {
      for (const auto& [name, value] : choices) {
        if (name == chosen) target = value;
      }
    });
  }
  // One of these names, which the target holds itself.
  Option& choice(const OptionText& text,
                 std::string& target,
                 const std::vector<std::string>& names) {
    return add_choice(text, names, target, [&target](const std::string& name) { target = name; });
  }
  // A text that `use` understands, or refuses with an InputError. `now`: the target's value.
  Option& value(const OptionText& text,
                const std::string& now,
                const std::function<void(const std::string&)>& use);
  // Shows an option in --help that the caller handles before parse(). It is not a setting.
  void mention(const OptionText& text);

  // Adds values of a file for parse(); those of the command line win. Throws InputError (2) with
  // the nearest option for an unknown key, and for a flag that is neither true nor false.
  void preset(const std::vector<ConfigValue>& values, const std::string& origin);

  // Sets the targets. Returns the text of the help or the version if `arguments` ask for it, else
  // "". Help may be that of one topic, or JSON. Throws InputError (2) with the nearest option,
  // value or topic, and the line of the file if the value comes from one.
  [[nodiscard]] std::string parse(const std::vector<std::string>& arguments);

  // Only after parse(): the program of end_at_program(), with its arguments.
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }
  // Returns all options except --help. Only after parse().
  [[nodiscard]] std::vector<Setting> settings() const;
  // Whether the option is on the command line or in the file.
  [[nodiscard]] bool given(const std::string& name) const;
  // Throws InputError (2) unless the option has a value.
  void require(const std::string& name) const;
  // Every option except --help and --version, in the order in which they were added.
  [[nodiscard]] const std::deque<Option>& options() const { return options_; }
  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] const std::string& about() const { return about_; }
  [[nodiscard]] std::string help_hint() const { return command_ + " --help lists all options"; }

 private:
  using Assign = std::function<std::string(const std::vector<std::string>&)>;
  struct Given {
    std::vector<std::string> values = {};
    std::string origin = {};
    std::string place = {};
  };
  struct Found {
    const Option* option = nullptr;
    std::optional<std::string> value = {};  // attached to it
  };
  Option& add(const OptionText& text,
              const std::string& type,
              const std::string& now,
              Assign assign);
  Option& add_choice(const OptionText& text,
                     const std::vector<std::string>& names,
                     const std::string& now,
                     const std::function<void(const std::string&)>& set);
  [[nodiscard]] Found find(const std::string& word) const;
  [[nodiscard]] std::string nearest_to(const std::string& word) const;
  [[nodiscard]] std::string hint_for(const std::string& word) const;
  [[nodiscard]] std::string help(const std::string& topic) const;
  [[nodiscard]] std::vector<std::string> topics() const;
  [[nodiscard]] std::string take_words(const std::vector<std::string>& arguments);
  void take(const Option& option, const std::string& value);
  void take_positional(const std::vector<std::string>& words, std::size_t behind_dashes);
  void assign_all();
  void check_needs() const;
  [[noreturn]] void refuse_unknown(const std::string& word) const;
  [[noreturn]] void refuse_value(const Option& option, const std::string& value) const;

  std::string command_;
  std::string about_;
  std::string footer_;
  std::string version_;
  std::string usage_ = {};
  std::string group_ = "Options";
  OnResume on_resume_ = OnResume::free;
  std::optional<Need> needs_ = {};
  bool ends_at_program_ = false;
  std::deque<Option> options_;  // rows stay where they are
  std::map<std::string, Given> given_;
  std::map<std::string, Given> presets_;
  std::vector<std::string> rest_;
};

// Whether a command line asks for help, and for which part of it.
struct HelpRequest {
  bool asked = false;
  std::string topic = {};  // "data"; "json"; empty: everything
};
// Finds -h, --help, --help=TOPIC and --help TOPIC before a "--". A word behind --help that begins
// with a dash is not a topic.
[[nodiscard]] HelpRequest help_in(const std::vector<std::string>& arguments);

}  // namespace bp
