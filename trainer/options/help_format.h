// The layout of --help: the value that an option takes, then what it does and its default, wrapped.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace bp::trainer {

class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option(const CLI::Option* option, bool positional) const override;
};

}  // namespace bp::trainer
