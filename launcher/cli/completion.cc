#include "launcher/cli/completion.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace bp::launcher {
namespace {

// How to complete an option's value, by the name that --help shows for the value.
struct Values {
  std::string_view type;
  std::string_view how;  // the option of compgen
};

constexpr std::array kValues{
    Values{"FILE", "-f"},
    Values{"MAP.json", "-f"},
    Values{"PATH", "-f"},
    Values{"DIR", "-d"},
    Values{"HOST:SLOTS,...", "-A hostname"},
    Values{"STYLE", "-W 'rank none horovod time'"},
    Values{"WHAT", "-W 'stop continue'"},
    Values{"WHICH", "-W 'all least:'"},
    Values{"SHELL", "-W 'bash'"},
};

constexpr std::string_view kFunction = R"(
  # An option's value.
  case $before in
@CASES@    @OTHERS@) return ;;
  esac
  # A tool, or the program: it and what follows complete as if they stood alone.
  for ((at = 1; at < COMP_CWORD; ++at)); do
    case ${COMP_WORDS[at]} in
      --) ((++at)); break ;;
      -*) [[ $valued == *" ${COMP_WORDS[at]} "* ]] && ((++at)) ;;
      doctor | gpus) ((at > 1)) && break ;;
      *) break ;;
    esac
  done
  if ((at < COMP_CWORD)) || [[ ${COMP_WORDS[at - 1]} == -- ]]; then
    if declare -F _command_offset >/dev/null; then _command_offset "$at"; else COMPREPLY=($(compgen -f -- "$word")); fi
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -c -- "$word") $(compgen -W 'doctor gpus sweep' -- "$word"))
  fi
}
complete -o filenames -F _bprun bprun
)";

void replace(std::string& text, std::string_view what, std::string_view with) {
  text.replace(text.find(what), what.size(), with);
}

// "-h --help"
std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) {
    names += concat(names.empty() ? "-" : " -", name);
  }
  for (const std::string& name : option.get_lnames()) {
    names += concat(names.empty() ? "--" : " --", name);
  }
  return names;
}

std::string either(const std::string& names) {
  std::string text;
  for (const char c : names) {
    text += c == ' ' ? std::string(" | ") : std::string(1, c);
  }
  return text;
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string all;
  std::string valued;
  std::string cases;
  std::string others;
  for (const CLI::Option* option : app.get_options()) {
    const std::string names = names_of(*option);
    all += concat(all.empty() ? "" : " ", names);
    if (option->get_items_expected_min() == 0) {
      continue;  // a flag, or an option with an optional value
    }
    valued += concat(" ", names);
    const auto known = std::ranges::find(kValues, option->get_type_name(), &Values::type);
    if (known == kValues.end()) {
      others += concat(others.empty() ? "" : " | ", either(names));
    } else {
      cases += concat("    ", either(names), ") COMPREPLY=($(compgen ", known->how,
                      " -- \"$word\")); return ;;\n");
    }
  }
  std::string function(kFunction);
  replace(function, "@CASES@", cases);
  replace(function, "@OTHERS@", others);
  return concat("# bash completion for bprun: source <(bprun --completion bash)\n_bprun() {\n",
                "  local at word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n",
                "  local options='", all, "'\n  local valued='", valued, " '", function);
}

}  // namespace bp::launcher
