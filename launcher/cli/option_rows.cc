#include "launcher/cli/option_rows.h"

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/topology/store_address.h"
#include "launcher/gpus/choice.h"
#include "launcher/hosts/rank_list.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;

constexpr double kAnyPort = 65535;
constexpr double kLargestFile = double(std::uint64_t{1} << 50);

StoreAddress server_of(const std::string& text) {
  try {
    return parse_store_address(text);
  } catch (const Error& error) {
    throw Error(error.code(), concat("--join ", text, " ", error.what()));
  }
}

void add_joining_options(OptionSet& set, Options& options) {
  set.number({"serve", "start -n ranks on this machine's slots and on machines that join at PORT",
              "", "PORT"},
             options.serve_port, -kUnbounded, kUnbounded);
  set.value({"join", "join the job of a bprun --serve and run ranks of it here", "", "HOST:PORT"},
            "", [&](const std::string& server) { options.join = server_of(server); });
  set.number({"slots", "run N ranks on this machine, with --serve or --join"}, options.slots,
             -kUnbounded, kUnbounded);
  set.number({"first-rank", "number this machine's ranks from R, with --serve or --join",
              "the next free rank", "R"},
             options.first_rank, -kUnbounded, kUnbounded);
}

void add_output_options(OptionSet& set, Options& options) {
  set.value({"stdin",
             "give bprun's stdin to rank 0, or with none leave it unread",
             "",
             "WHO",
             {"0", "none"}},
            "0", [&](const std::string& who) {
              if (who != "0" && who != "none") {
                refuse(concat("--stdin must be 0 (rank 0) or none, not '", who, "'"));
              }
              options.forward_stdin = who == "0";
            });
  set.choice<PrefixStyle>(
      {"prefix", "begin each output line with: rank, none, horovod or time", "", "STYLE"},
      options.prefix,
      {{"rank", PrefixStyle::rank},
       {"none", PrefixStyle::none},
       {"horovod", PrefixStyle::horovod},
       {"time", PrefixStyle::time}});
  set.value({"show-ranks", "show the output of these ranks only", "all", "0,2-3"}, "",
            [&](const std::string& ranks) {
              options.shown_ranks = parse_rank_list(ranks, "--show-ranks");
            });
  set.flag({"q,quiet", "print nothing of bprun's own except the report of a failure"},
           options.quiet);
  set.choice<ColourChoice>(
      {"color", "colour prefixes: auto, always or never", "auto, which obeys NO_COLOR", "WHEN"},
      options.colours,
      {{"auto", ColourChoice::automatic},
       {"always", ColourChoice::always},
       {"never", ColourChoice::never}});
  set.text(
      {"output", "also write DIR/JOB/rank.N/stdout and stderr; DIR/latest links the newest job", "",
       "DIR"},
      options.output);
  set.size({"output-limit", "rotate a file of --output at SIZE, such as 100M", "no limit"},
           options.output_limit, 4096, kLargestFile);
  set.text(
      {"trace", "have programs of bp write a timeline of each rank to DIR/rank-N.json", "", "DIR"},
      options.trace);
}

void add_failure_options(OptionSet& set, Options& options) {
  set.duration({"grace", "give ranks TIME to save and end when asked to stop"}, options.grace, 0s);
  // Ranks on a busy machine pause for less than a second.
  set.duration({"kill-silent",
                "end the job if a rank sends no heartbeat for TIME (10s); by default bprun only "
                "names such a rank"},
               options.kill_silent, 1s)
      .bare = "10s";
  add_lost_after_option(set, options);
  set.choice<bool>(
      {"on-failure", "stop the job when a rank fails, or continue with the others", "", "WHAT"},
      options.survivors_continue, {{"stop", false}, {"continue", true}});
  set.number({"max-restarts", "restart up to N times after a failure or a lost host"},
             options.max_restarts, 0, kUnbounded);
  set.number(
      {"min-ranks", "restart with fewer hosts if at least M ranks still fit", "all ranks", "M"},
      options.min_ranks, 1, kUnbounded);
}

void add_resource_options(OptionSet& set, Options& options) {
  set.value({"gpus",
             "assign one GPU per rank: all, 0,2-3, or least:N for the N least busy",
             "none",
             "WHICH",
             {"all", "least:"}},
            "", [&](const std::string& which) {
              if (!which.empty()) static_cast<void>(parse_gpu_request(which));
              options.gpus = which;
            });
  set.flag({"share-gpus", "allow more ranks than GPUs"}, options.share_gpus);
  set.flag(
      {"no-probe", "start even if hosts cannot reach each other, for programs without a network"},
      options.probe, false);
  set.number({"store-port", "use this port for the job's store", "any free port", "PORT"},
             options.store_port, 0, kAnyPort);
}

void add_listings(OptionSet& set, Options& options, Listings& listings) {
  set.flag({"dry-run", "show hosts, ranks, variables and commands; start nothing"},
           options.dry_run);
  set.flag({"check-build", "show the backends, launchers and versions of this build and exit"},
           listings.check_build);
  set.text({"completion",
            "print the completion of a shell: source <(bprun --completion bash)",
            "",
            "SHELL",
            {"bash"}},
           listings.completion);
  set.flag({"json", "print --dry-run and --check-build as JSON"}, options.json);
}

}  // namespace

void add_options(OptionSet& set, Options& options, Listings& listings) {
  set.number({"n", "number of ranks", "all slots of the hosts, or 1"}, options.ranks, 1, kUnbounded)
      .aliases = {"-np", "--np", "--num-proc", "--num_proc", "--n"};
  add_host_options(set, options);
  add_joining_options(set, options);
  add_output_options(set, options);
  add_environment_options(set, options, "ranks");
  add_failure_options(set, options);
  add_resource_options(set, options);
  add_listings(set, options, listings);
}

void add_host_options(OptionSet& set, Options& options) {
  set.text({"H", "run on these hosts: a:3,u@gpu[01-08]:4,[fe80::1]:2",
            "those of a batch job, or this machine", "HOST:SLOTS,..."},
           options.host_list)
      .aliases = {"-host", "--host", "-hosts"};
  set.path({"hostfile",
            "read hosts from FILE, one per line: NAME slots=N max_slots=M gpus=0,2 iface=eth1 "
            "port=22 user=u # note",
            "", "FILE"},
           options.hostfile)
      .aliases = {"-hostfile", "--host-file", "-machinefile", "--machinefile", "-f"};
  set.path({"hosts", R"(read hosts from a JSON file: {"a":3,"b":{"slots":2,"gpus":[0,2]}})", "",
            "MAP.json"},
           options.host_map);
  set.text({"include", "use only these hosts, or these of their slots: a,b:0,2-3", "",
            "HOST[:SLOT,...],..."},
           options.selection.include);
  set.text({"exclude", "use all hosts or slots except these", "", "HOST[:SLOT,...],..."},
           options.selection.exclude);
  set.text({"ssh", "reach hosts with CMD instead of ssh: 'ssh -F FILE'", "", "CMD"}, options.ssh)
      .default_value.clear();
  set.path({"remote-bprun", "use this bprun on other hosts", "the same path as here", "PATH"},
           options.remote_bprun);
  set.text({"interface", "connect hosts through this network (10.0.0.0/8), interface or address",
            "one that all hosts reach", "NAME"},
           options.interface)
      .aliases = {"-iface", "--network-interface", "--network-interfaces"};
  set.duration({"start-timeout", "wait TIME for hosts to answer and ranks to find each other"},
               options.start_timeout, 0s);
}

void add_lost_after_option(OptionSet& set, Options& options) {
  set.duration({"lost-after", "count a host as lost after TIME without a heartbeat"},
               options.lost_after, kLeastLostAfter, kMostLostAfter);
}

void add_environment_options(OptionSet& set, Options& options, const std::string& of) {
  set.texts(
         {.name = "env",
          .help = concat("pass the variable to other hosts too; with =VALUE set it for all ", of),
          .value_name = "NAME[=VALUE] ..."},
         options.environment)
      .aliases = {"-x"};
  set.flag({"env-all", "pass the whole environment to other hosts"}, options.whole_environment);
}

void check_host_options(const Options& options) {
  const int given = int{options.host_list.has_value()} + int{options.hostfile.has_value()} +
                    int{options.host_map.has_value()};
  if (given > 1) refuse("give only one of -H, --hostfile and --hosts");
}

}  // namespace bp::launcher
