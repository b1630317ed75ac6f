// The command lines of bert_train's commands, each parsed from what follows the command's name.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

// All throw InputError (2, or 66 if a model does not exist).

// `footer` is the end of the help text.
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
// SPACE.yaml and options of bprun sweep, then -- and the command line of a training. The training's
// options become those of the result, so that its task is known.
[[nodiscard]] CommandLine parse_sweep(const std::vector<std::string>& arguments,
                                      const Extensions& extensions);

// The options of the run that trained the model come before those in `arguments`, which win.
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

[[nodiscard]] CommandLine parse_shards(const std::vector<std::string>& arguments);
[[nodiscard]] CommandLine parse_report(const std::vector<std::string>& arguments);
[[nodiscard]] CommandLine parse_runs(const std::vector<std::string>& arguments);
[[nodiscard]] CommandLine parse_stop(const std::vector<std::string>& arguments);

}  // namespace bp::trainer
