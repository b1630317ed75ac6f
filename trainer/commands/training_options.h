// The command lines of the commands that train or prepare data.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

// `footer` is the end of the help text. All throw InputError (2).
[[nodiscard]] CommandLine parse_train(const std::vector<std::string>& arguments,
                                      const Extensions& extensions,
                                      const std::string& footer);
[[nodiscard]] CommandLine parse_estimate(const std::vector<std::string>& arguments,
                                         const Extensions& extensions);
[[nodiscard]] CommandLine parse_scale(const std::vector<std::string>& arguments,
                                      const Extensions& extensions);
[[nodiscard]] CommandLine parse_prepare(const std::vector<std::string>& arguments,
                                        const Extensions& extensions);
[[nodiscard]] CommandLine parse_check(const std::vector<std::string>& arguments,
                                      const Extensions& extensions);

}  // namespace bp::trainer
