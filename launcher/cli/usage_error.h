// Tells the user of bprun and its tools that a command line was not understood, and what may be
// meant.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_set.h"
#include "launcher/cli/bprun_options.h"

namespace bp::launcher {

// `error`: an InputError of the set, or an Error about an option of it. The hint names what bprun
// has for an option of another launcher, or the most similar option, and says where the help is.
[[nodiscard]] EarlyExit usage_error(const OptionSet& set,
                                    const std::vector<std::string>& arguments,
                                    const std::runtime_error& error);

// What to write instead of a program that was not found: the most similar tool of bprun or program
// of bp. Empty if none is similar.
[[nodiscard]] std::string advice_for_program(std::string_view program);

}  // namespace bp::launcher
