// The layout of --help: what the command does, and for each option the value that it takes, then
// what it does and its default, all wrapped.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace bp::trainer {

class HelpFormat : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_description(const CLI::App* app) const override;
  [[nodiscard]] std::string make_option(const CLI::Option* option, bool positional) const override;
};

}  // namespace bp::trainer
