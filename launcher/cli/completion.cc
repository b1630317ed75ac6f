#include "launcher/cli/completion.h"

#include <string_view>

#include "base/options/help.h"
#include "base/text.h"

namespace bp::launcher {
namespace {

constexpr std::string_view kFunction = R"(
  # An option's value.
  case $before in
@VALUES@  esac
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

}  // namespace

std::string bash_completion(const OptionSet& set) {
  constexpr std::string_view kValues = "@VALUES@";
  const BashWords words = bash_words(to_json(set)["options"]);
  std::string function(kFunction);
  function.replace(function.find(kValues), kValues.size(), words.values);
  return concat("# bash completion for bprun: source <(bprun --completion bash)\n_bprun() {\n",
                "  local at word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n",
                "  local options='", words.options, "'\n  local valued='", words.valued, " '",
                function);
}

}  // namespace bp::launcher
