#include "launcher/failure/host_texts.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/joined.h"
#include "base/quoted.h"
#include "base/text.h"
#include "launcher/cli/usage_error.h"
#include "launcher/failure/rank_texts.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/likely_cause.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMostOfAVersion = 40;

std::string without(std::string text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    text.erase(at, name.size());
  }
  return text;
}

// At most five names: the first three, "..." and the last.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.size() <= kShown || i < kShown - 2 || i + 1 == names.size()) {
      text += concat(i == 0 ? "" : ", ", names[i]);
    } else if (i == kShown - 2) {
      text += ", ...";
    }
  }
  return text;
}

// What carries the connection to the agent.
std::string_view starter_of(const AgentStart& start) {
  return start.joined ? "its connection" : start.srun ? "srun" : "ssh";
}

// What ssh, srun or a login shell printed when it did not lead to an agent, and what to do about
// it.
struct SshComplaint {
  std::string text;            // the line that names the cause; all lines if none is known
  std::string_view hint = {};  // what to do; empty for an unknown cause
};

struct SshTrouble {
  std::string_view sign;
  std::string_view hint;
};

constexpr std::array kSshTroubles{
    SshTrouble{"Temporary failure in name resolution",
               "the name service (DNS) does not answer from here: try again, or name the host in "
               "/etc/hosts"},
    SshTrouble{"Could not resolve hostname",
               "the name is neither in DNS, /etc/hosts nor ssh's configuration"},
    SshTrouble{"Connection refused",
               "no sshd listens there; is it the right port (port=N in a hostfile)?"},
    SshTrouble{"during banner exchange",
               "something accepts connections there, but sshd does not answer: it hangs, or the "
               "host is overloaded"},
    SshTrouble{"Connection timed out", "the host is down, or a firewall is in between"},
    SshTrouble{"No route to host", "the host is down, or a firewall is in between"},
    SshTrouble{"Permission denied",
               "bprun needs a login without password: ssh-copy-id to that host"},
    SshTrouble{"has changed and you have requested strict checking",
               "if that is right, forget the old key: ssh-keygen -R that host"},
    SshTrouble{"Host key verification failed",
               "log in once by hand: ssh asks about the host's key"},
    SshTrouble{"kex_exchange_identification",
               "sshd there takes no more logins at a time: fewer hosts at once, or a higher "
               "MaxStartups in its sshd_config"},
    SshTrouble{"DUE TO TIME LIMIT", "Slurm's time limit (--time) has ended the job or its step"},
    SshTrouble{"CANCELLED AT", "scancel has ended the job or its step"},
};

SshComplaint complaint_of(const std::vector<std::string>& lines) {
  for (const SshTrouble& trouble : kSshTroubles) {
    for (const std::string& line : lines) {
      if (line.find(trouble.sign) != std::string::npos) {
        return {.text = line, .hint = trouble.hint};
      }
    }
  }
  return {.text = joined(lines, "; ")};
}

// What to do when the login worked but the remote shell did not start bprun.
std::string shell_hint(const std::string& host) {
  return concat(
      "what a login shell reads there first (~/.bashrc, /etc/profile) must neither end "
      "it, nor print, nor read its input: ssh ",
      host, " true must do nothing");
}

}  // namespace

Failure failure_of(const StartFailed& message,
                   const std::string& host,
                   const std::string& program) {
  const std::string what = message.exit_code == kExitNotFound        ? "was not found"
                           : message.exit_code == kExitNotExecutable ? "cannot be executed"
                                                                     : "cannot be started";
  return {.exit_code = message.exit_code,
          .rank = -1,
          .headline = concat(program, " ", what, " on ", host, ": ", quoted_line(message.problem)),
          .hint = message.exit_code == kExitNotFound
                      ? advice_for_program(program)
                      : likely_cause({.last_errors = {message.problem}})};
}

Failure unreachable(const std::string& host,
                    const LinkLoss& loss,
                    const std::string& remote_bprun) {
  auto [complaint, hint] = complaint_of(loss.errors);
  if (complaint.empty()) {
    complaint = loss.problem.empty() ? describe_status(loss.status) : loss.problem;
  }
  if (loss.tries > 1) {
    complaint += concat(" (", loss.tries, " tries)");
  }
  const int code = exit_code_of(loss.status);
  if (code == kExitNotFound || code == kExitNotExecutable) {
    return {
        .exit_code = kExitTemporary,
        .rank = -1,
        .headline = concat("there is no ", remote_bprun, " on ", host, ": ", complaint),
        .hint = "install the same build at the same path there, or name it: --remote-bprun PATH"};
  }
  if (loss.let_in && hint.empty()) {
    return {.exit_code = kExitTemporary,
            .rank = -1,
            .headline = concat("ssh logged in to ", host,
                               ", but the shell there did not start bprun's agent: ", complaint),
            .hint = code == 0 ? concat("is ", remote_bprun, " on ", host,
                                       " bprun (--remote-bprun)? If so: ", shell_hint(host))
                              : shell_hint(host)};
  }
  return {.exit_code = kExitTemporary,
          .rank = -1,
          .headline = concat("host ", host, " could not be reached: ", complaint),
          .hint = std::string(hint)};
}

Failure no_answer(const std::string& host, bool let_in, std::chrono::milliseconds limit) {
  Failure failure{.exit_code = kExitTemporary,
                  .headline = concat("host ", host, " gave no answer within ", elapsed_text(limit),
                                     " (--start-timeout)")};
  if (let_in) {
    failure.headline +=
        ", although ssh logged in: the shell there hangs, or reads the input that is meant for "
        "bprun";
    failure.hint = shell_hint(host);
  }
  return failure;
}

std::vector<std::string> others_like(const std::vector<std::pair<std::string, Failure>>& failures) {
  struct Group {
    std::string text;  // without the host's name
    std::vector<std::string> hosts;
    std::string headline;  // of the first of them
  };
  std::vector<Group> groups;
  for (const auto& [host, failure] : failures) {
    const std::string text = without(failure.headline, host);
    const auto same = std::ranges::find(groups, text, &Group::text);
    if (same == groups.end()) {
      groups.push_back({text, {host}, failure.headline});
    } else {
      same->hosts.push_back(host);
    }
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    if (i > 0) {  // the first of all is the headline of the report
      lines.push_back(group.headline);
    }
    if (group.hosts.size() > 1) {
      lines.push_back(concat("the same holds for ", group.hosts.size() - 1,
                             group.hosts.size() == 2 ? " other host: " : " other hosts: ",
                             some_of({group.hosts.begin() + 1, group.hosts.end()})));
    }
  }
  return lines;
}

Failure lost_after_hello(const std::string& host, const LinkLoss& loss, const AgentStart& start) {
  std::string why = loss.last_word.empty() ? loss.problem : concat("its agent ", loss.last_word);
  const std::string_view hint = complaint_of(loss.errors).hint;
  for (const std::string& line : loss.errors) {
    why += concat(why.empty() ? "" : "; ", line);
  }
  if (why.empty()) {
    why = concat(start.local
                     ? "bprun's agent there "
                     : concat("its agent ended without a message, and ", starter_of(start), " "),
                 describe_status(loss.status));
  }
  // On bprun's own machine the agent is a child of bprun. If it ends by itself, bprun has a bug.
  const bool has_bug = start.local && !loss.silent && loss.last_word.empty() &&
                       !(WIFSIGNALED(loss.status) && WTERMSIG(loss.status) == SIGKILL);
  Failure failure{.exit_code = has_bug ? kExitInternal : kExitTemporary,
                  .headline = concat("host ", host, " was lost (", why, ")"),
                  .hint = std::string(hint)};
  if (loss.silent && start.local) {
    failure.hint = "bprun's agent there is stopped or hangs; --lost-after 30s waits longer";
  } else if (loss.silent) {
    failure.more.push_back(concat("nothing came from it over ", starter_of(start),
                                  ", nor over a connection of its own to the job's store"));
    failure.hint =
        "the host is down, hangs or is cut off, or its bprun is stopped; --lost-after 30s waits "
        "longer";
  }
  return failure;
}

std::string version_trouble(const std::string& host, const Hello& hello, const Hello& own) {
  if (hello.protocol == own.protocol && hello.version == own.version) {
    return "";
  }
  return concat("host ", host, " has bprun ", quoted_line(hello.version, kMostOfAVersion),
                " (build ", quoted_line(hello.build.substr(0, 12)), "), but this machine has ",
                own.version, " (build ", own.build.substr(0, 12),
                "): install the same version on both");
}

}  // namespace bp::launcher
