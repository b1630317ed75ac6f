// The command lines of the commands about a trained model, and of replay.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

// All throw InputError (2, or 66 if the model does not exist). The options of the run that trained
// the model come before those in `arguments`, which win.
[[nodiscard]] CommandLine parse_evaluate(const std::vector<std::string>& arguments,
                                         const Extensions& extensions);
[[nodiscard]] CommandLine parse_predict(const std::vector<std::string>& arguments,
                                        const Extensions& extensions);
[[nodiscard]] CommandLine parse_export(const std::vector<std::string>& arguments,
                                       const Extensions& extensions);
[[nodiscard]] CommandLine parse_merge(const std::vector<std::string>& arguments,
                                      const Extensions& extensions);
[[nodiscard]] CommandLine parse_replay(const std::vector<std::string>& arguments,
                                       const Extensions& extensions);

}  // namespace bp::trainer
