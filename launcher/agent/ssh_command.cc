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
    // Whether a host that is silent is lost is for kSilenceLimit to say; ssh gives up after it.
    for (const char* option :
         {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=2", "ServerAliveCountMax=5"}) {
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

std::vector<std::string> srun_command(const Host& host, const std::string& remote_bprun) {
  // An agent tells by SSH_CONNECTION where bprun is; srun would hand it on of the user's own login.
  return {"srun",
          "--overlap",
          "--nodes=1",
          "--ntasks=1",
          "--nodelist=" + host.name,
          "--cpu-bind=none",
          "--mpi=none",
          "--unbuffered",
          "env",
          "-u",
          "SSH_CONNECTION",
          remote_bprun,
          "--agent"};
}

}  // namespace bp::launcher
