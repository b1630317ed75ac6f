#include "trainer/train/command_again.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "comm/base/text.h"

namespace bp::trainer {
namespace {

std::string hosts_of(const Topology& topology) {
  if (topology.hosts() == 1 && topology.host_name(0) == "localhost") {
    return concat("-n ", topology.size());
  }
  std::string list;
  for (int host = 0; host < topology.hosts(); ++host) {
    const std::string name = topology.host_name(host);
    const bool v6 = name.find(':') != std::string::npos;
    list += concat(host == 0 ? "" : ",", v6 ? "[" : "", name, v6 ? "]:" : ":",
                   topology.local_sizes[static_cast<std::size_t>(host)]);
  }
  return "-H " + shell_word(list);
}

bool on_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access(concat(folder, "/", name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::string shell_word(const std::string& text) {
  const auto harmless = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./,:=+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), harmless)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string find_bprun() {
  namespace fs = std::filesystem;
  if (on_path("bprun")) return "bprun";
  std::error_code error;
  const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / "bprun";
  return fs::exists(beside, error) ? fs::proximate(beside, error).string() : "bprun";
}

std::vector<std::string> arguments_again(std::vector<std::string> arguments) {
  const bool otherwise = std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "--resume" || argument.starts_with("--resume=");
  });
  if (otherwise) {
    arguments.insert(arguments.end(), {"--resume", "auto"});
  }
  return arguments;
}

std::string command_again(const Launched& launched, const std::vector<std::string>& arguments) {
  std::string command = shell_word(launched.program);
  if (!launched.bprun.empty()) {
    command = concat(shell_word(launched.bprun), " ", hosts_of(launched.topology), " ", command);
  }
  for (const std::string& argument : arguments_again(arguments)) {
    command += " " + shell_word(argument);
  }
  return command;
}

}  // namespace bp::trainer
