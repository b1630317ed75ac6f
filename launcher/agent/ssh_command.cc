#include "launcher/agent/ssh_command.h"

#include <filesystem>

#include "comm/base/text.h"
#include "launcher/process/shell_words.h"

namespace bp::launcher {

std::vector<std::string> agent_command(const std::vector<std::string>& ssh,
                                       const Host& host,
                                       const std::string& remote_bprun) {
  std::vector<std::string> command = ssh;
  if (std::filesystem::path(ssh.front()).filename() == "ssh") {
    for (const char* option :
         {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=2", "ServerAliveCountMax=2"}) {
      command.insert(command.end(), {"-o", option});
    }
    command.emplace_back("-T");
  }
  if (host.port) {
    command.insert(command.end(), {"-p", std::to_string(*host.port)});
  }
  if (!host.user.empty()) {
    command.insert(command.end(), {"-l", host.user});
  }
  command.push_back(host.name);
  command.push_back(concat(quote_shell_word(remote_bprun), " --agent"));
  return command;
}

}  // namespace bp::launcher
