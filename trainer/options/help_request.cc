#include "trainer/options/help_request.h"

#include <string_view>

namespace bp::trainer {

HelpRequest help_in(const std::vector<std::string>& arguments) {
  constexpr std::string_view kWithTopic = "--help=";
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with(kWithTopic)) return {true, word.substr(kWithTopic.size())};
    if (word != "--help" && word != "-h") continue;
    const bool topic = i + 1 < arguments.size() && !arguments[i + 1].starts_with('-');
    return {true, topic ? arguments[i + 1] : ""};
  }
  return {};
}

}  // namespace bp::trainer
