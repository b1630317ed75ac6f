// The command line of bprun.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bp/environment.h"
#include "launcher/hosts/host_selection.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/line_prefix.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {

struct Options {
  std::optional<int> ranks;
  std::optional<std::string> host_list;  // -H; at most one of these three is set
  std::optional<std::string> hostfile;
  std::optional<std::string> host_map;
  HostSelection selection;           // --include, --exclude
  std::optional<int> serve_port;     // --serve: machines join here
  std::optional<StoreAddress> join;  // --join: such a server
  int slots = 1;                     // of this machine, with --serve or --join
  std::optional<int> first_rank;
  std::string ssh = "ssh";
  std::string remote_bprun;  // empty: the path of this bprun
  std::string gpus;          // --gpus; empty: those of the host list, if it has any
  std::string interface;
  bool share_gpus = false;
  bool probe = true;  // hosts must reach each other before ranks start
  bool quiet = false;
  bool stderr_counts = true;  // a loss of the ranks' stderr is one of output; not for a trial's log
  bool forward_stdin = true;  // to rank 0; else it reads the end of its stdin at once
  int store_port = 0;
  PrefixStyle prefix = PrefixStyle::rank;
  ColourChoice colours = ColourChoice::automatic;
  std::vector<int> shown_ranks;  // empty: all
  std::string output;
  std::uint64_t output_limit = 0;  // bytes of a file of --output; 0: none
  std::string trace;
  std::chrono::milliseconds start_timeout = std::chrono::seconds{30};
  std::chrono::milliseconds lost_after = kLostAfter;
  std::chrono::milliseconds grace = std::chrono::seconds{30};
  std::optional<std::chrono::milliseconds> kill_silent;  // unset: bprun only names silent ranks
  std::vector<std::string> environment;                  // NAME or NAME=VALUE
  bool whole_environment = false;
  bool survivors_continue = false;  // --on-failure continue
  bool dry_run = false;
  bool json = false;  // print lists as JSON
  int max_restarts = 0;
  std::optional<int> min_ranks;      // for a restart; unset: as many as the job began with
  std::vector<std::string> program;  // with its arguments; may be empty with --join
  // The words of the command line before it, without the values of --env: they may be secret, and
  // these words are printed.
  std::vector<std::string> own;
};

// What to print instead of running a job (on stdout for code 0, else on stderr), and the exit code.
struct EarlyExit {
  int code = 0;
  std::string text;
  int print() const;  // returns the code
};

// Returns the options of a job, or what to print for --help and the like or for wrong options.
[[nodiscard]] std::variant<Options, EarlyExit> parse_options(
    const std::vector<std::string>& arguments);

}  // namespace bp::launcher
