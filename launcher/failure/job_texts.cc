#include "launcher/failure/job_texts.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "launcher/cli/other_options.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/process/signals.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/likely_cause.h"
#include "launcher/report/quoted.h"

namespace bp::launcher {
namespace {

constexpr const char* kFinishHint =
    "write world.finish(); on every rank, after its last collective and before each return of "
    "main()";
constexpr std::size_t kMostOfAVersion = 40;

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

struct SshComplaint {
  std::string text;  // the one line that tells, or all
  std::string_view hint;
};

SshComplaint complaint_of(const std::vector<std::string>& lines) {
  for (const SshTrouble& trouble : kSshTroubles) {
    for (const std::string& line : lines) {
      if (line.find(trouble.sign) != std::string::npos) {
        return {line, trouble.hint};
      }
    }
  }
  std::string all;
  for (const std::string& line : lines) {
    all += concat(all.empty() ? "" : "; ", line);
  }
  return {all, ""};
}

std::string shell_hint(const std::string& host) {
  return concat(
      "what a login shell reads there first (~/.bashrc, /etc/profile) must neither end "
      "it, nor print, nor read its input: ssh ",
      host, " true must do nothing");
}

std::string without(std::string text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    text.erase(at, name.size());
  }
  return text;
}

// The first and the last of many.
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

// What the connection to the agent is.
std::string_view starter_of(const AgentStart& start) {
  return start.joined ? "its connection" : start.srun ? "srun" : "ssh";
}

}  // namespace

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kExitSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string describe_status(int status) {
  if (!WIFSIGNALED(status)) {
    return concat("exited with code ", WEXITSTATUS(status));
  }
  return concat("was killed by signal ", WTERMSIG(status), " (", signal_name(WTERMSIG(status)),
                ")");
}

std::string describe_rank(const std::vector<PlacedHost>& placement, int rank, int pid) {
  const PlacedHost& placed = placement[host_of_rank(placement, rank)];
  const std::string process = pid > 0 ? concat(", pid ", pid) : "";
  return concat("rank ", rank, " on ", placed.host.name, " (local rank ", rank - placed.first_rank,
                process, ")");
}

Failure failure_of(const RootCause& root_cause, const std::string& who) {
  Failure failure{.exit_code = kExitInternal, .rank = root_cause.rank, .headline = ""};
  switch (root_cause.kind) {
    case RootCause::Kind::ended:
      failure.exit_code = exit_code_of(root_cause.status);
      failure.headline = concat(who, " ", describe_status(root_cause.status));
      break;
    case RootCause::Kind::left:
      failure.headline =
          concat(who, " exited without world.finish() while other ranks were at work");
      failure.hint = kFinishHint;
      break;
    case RootCause::Kind::lost_store:
      failure.headline = concat(who, " closed its connection to the job's store, but ran on");
      break;
    case RootCause::Kind::declared:
      failure.headline =
          concat(who, " declared the job failed: ", quoted_line(root_cause.declared));
      break;
    case RootCause::Kind::consequence:
      if (root_cause.status != 0) {
        failure.exit_code = exit_code_of(root_cause.status);
      }
      failure.headline = concat(
          who,
          root_cause.status == 0 ? " gave up" : concat(" ", describe_status(root_cause.status)),
          root_cause.because_of < 0
              ? std::string(" because it lost the job's store")
              : concat(" because of rank ", root_cause.because_of,
                       root_cause.cause_has_ended ? ", which had ended" : ", which still ran"),
          root_cause.declared.empty() ? "" : concat(": ", quoted_line(root_cause.declared)));
      break;
  }
  return failure;
}

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
            .headline = concat("ssh let us in on ", host,
                               ", but its shell did not start bprun's agent: ", complaint),
            .hint = shell_hint(host)};
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
    failure.headline += ", although ssh let us in: its shell hangs, or reads what is for bprun";
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
      lines.push_back(concat("so it is with ", group.hosts.size() - 1,
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
    why =
        concat(start.local ? "bprun's agent there "
                           : concat("its agent ended without a word, and ", starter_of(start), " "),
               describe_status(loss.status));
  }
  Failure failure{.exit_code = start.local ? kExitInternal : kExitTemporary,
                  .headline = concat("host ", host, " was lost (", why, ")"),
                  .hint = std::string(hint)};
  if (loss.silent) {
    failure.more.push_back(concat("nothing came from it by ", starter_of(start),
                                  ", nor by a connection of its own to the job's store"));
    failure.hint =
        "the host is down, hangs or is cut off, or its bprun is stopped; --lost-after 30s waits "
        "longer";
  }
  return failure;
}

std::string left_silently(const std::vector<int>& ranks) {
  return concat(
      "bprun: warning: ", ranks.size() == 1 ? "rank " : "ranks ", rank_ranges(ranks),
      " exited without world.finish(), which fails the job where another rank is still at "
      "work; ",
      kFinishHint);
}

std::string version_trouble(const std::string& host, const Hello& theirs, const Hello& ours) {
  if (theirs.protocol == ours.protocol && theirs.version == ours.version) {
    return "";
  }
  return concat("host ", host, " has bprun ", quoted_line(theirs.version, kMostOfAVersion),
                " (build ", quoted_line(theirs.build.substr(0, 12)), "), here it is ", ours.version,
                " (build ", ours.build.substr(0, 12), "): install the same on both");
}

}  // namespace bp::launcher
