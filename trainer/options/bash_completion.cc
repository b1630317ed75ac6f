#include "trainer/options/bash_completion.h"

#include <string_view>
#include <vector>

#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kScript =
    R"(# bash completion for bert_train: source <(bert_train --completion bash)
_bert_train() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options
  # bash makes words of --batch=3: the option, = and the value.
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  case $command in
@COMMANDS@  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
    ((COMP_CWORD == 1)) && COMPREPLY+=($(compgen -W '@NAMES@' -- "$word"))
  fi
}
complete -o filenames -F _bert_train bert_train
)";

void replace_first(std::string& text, std::string_view what, std::string_view with) {
  text.replace(text.find(what), what.size(), with);
}

// Returns the option of compgen that offers the values, or "" if there is nothing to offer.
std::string values_of(const Json& option) {
  for (const char* list : {"choices", "suggested"}) {
    if (!option.contains(list)) continue;
    std::string words;
    for (const Json& word : option[list]) {
      words += concat(words.empty() ? "" : " ", word.get<std::string>());
    }
    const bool or_path = list == std::string_view("suggested") && option["type"] == "path";
    return concat(or_path ? "-f -W '" : "-W '", words, "'");
  }
  if (option["value"] == "DIR" || option["value"] == "FOLDER") return "-d";
  const std::string type = option["type"];
  return type == "path" || type == "paths" ? "-f" : "";
}

// Returns the branch of `case` for a command: its options and what their values may be.
std::string branch_of(const Json& command) {
  const std::string name = command["name"];
  std::string options = "--help";
  std::string values;
  std::string others;
  for (const Json& option : command["options"]) {
    if (option["positional"]) continue;
    const std::string word = concat("--", option["name"].get<std::string>());
    options += " " + word;
    if (option["type"] == "flag") continue;
    const std::string how = values_of(option);
    if (how.empty()) {
      others += concat(others.empty() ? "" : " | ", word);
    } else {
      values +=
          concat("        ", word, ") COMPREPLY=($(compgen ", how, " -- \"$word\")); return ;;\n");
    }
  }
  if (!others.empty()) values += concat("        ", others, ") return ;;\n");
  if (!values.empty()) values = concat("      case $before in\n", values, "      esac\n");
  return concat("    ", name.empty() ? "*" : name, ")\n      options='", options, "'\n", values,
                "      ;;\n");
}

}  // namespace

std::string bash_completion(const Json& commands) {
  std::string branches;
  std::string names;
  std::string training;
  for (const Json& command : commands) {
    const std::string name = command["name"];
    (name.empty() ? training : branches) += branch_of(command);
    if (!name.empty()) names += concat(names.empty() ? "" : " ", name);
  }
  std::string script(kScript);
  replace_first(script, "@COMMANDS@", branches + training);  // `*` comes last
  replace_first(script, "@NAMES@", names);
  return script;
}

}  // namespace bp::trainer
