// The command line of bprun.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bp/environment.h"
#include "launcher/hosts/selection.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/line_prefix.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {

struct Options {
  std::optional<int> ranks;
  std::optional<std::string> host_list;  // -H; at most one of these three is given
  std::optional<std::string> hostfile;
  std::optional<std::string> host_map;
  Selection selection;               // --include, --exclude
  std::optional<int> serve_port;     // for machines that join by themselves
  std::optional<StoreAddress> join;  // such a server
  int slots = 1;                     // of this machine, with either
  std::optional<int> first_rank;
  std::string ssh = "ssh";
  std::string remote_bprun;  // empty: the same path as here
  std::string gpus;          // --gpus; empty: what the host list says, if anything
  bool share_gpus = false;
  std::string interface;
  bool probe = true;  // whether hosts must reach each other before ranks are started
  int store_port = 0;
  PrefixStyle prefix = PrefixStyle::rank;
  ColourChoice colours = ColourChoice::automatic;
  std::vector<int> shown_ranks;  // empty: all
  bool quiet = false;
  std::string output;
  std::string trace;
  std::chrono::milliseconds start_timeout = std::chrono::seconds{30};
  std::chrono::milliseconds lost_after = kLostAfter;
  std::chrono::milliseconds grace = std::chrono::seconds{30};
  std::optional<std::chrono::milliseconds> kill_silent;  // unset: silent ranks are only named
  std::vector<std::string> environment;                  // NAME or NAME=VALUE
  bool whole_environment = false;
  bool survivors_continue = false;  // --on-failure continue
  int max_restarts = 0;
  std::optional<int> min_ranks;  // of a restart; unset: as many as the job began with
  bool dry_run = false;
  bool json = false;                 // of what is listed
  std::vector<std::string> program;  // maybe none with --join; with its arguments, untouched
  std::vector<std::string> own;      // the words before it
};

// Instead of a job: what to print (stdout for code 0, else stderr) and the exit code.
struct EarlyExit {
  int code = 0;
  std::string text;
};

[[nodiscard]] std::variant<Options, EarlyExit> parse_options(
    const std::vector<std::string>& arguments);

// "30", "30s", "1.5s", "500ms", "2m", "1h"; throws invalid_argument naming `option`.
[[nodiscard]] std::chrono::milliseconds parse_duration(const std::string& text,
                                                       const std::string& option);

}  // namespace bp::launcher
