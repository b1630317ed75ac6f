// Whether a command line asks for help, and for which part of it.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

struct HelpRequest {
  bool asked = false;
  std::string topic = {};  // "data"; "json"; empty: everything
};

// Finds -h, --help, --help=TOPIC and --help TOPIC before a "--". A word behind --help that begins
// with a dash is no topic.
[[nodiscard]] HelpRequest help_in(const std::vector<std::string>& arguments);

}  // namespace bp::trainer
