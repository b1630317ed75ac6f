#include "launcher/cli/option_descriptions.h"

#include "base/text.h"
#include "launcher/cli/host_options.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher {
namespace {

constexpr const char* kIntroduction =
    R"(Starts a program on several ranks, here and on other hosts, and says why it failed.

Examples:
  bprun -n 4 PROGRAM ARGS...             four ranks on this machine
  bprun -H a:3,b:1 PROGRAM ARGS...       three ranks on host a, one on b (ssh)
  bprun --hostfile FILE -n 8 PROGRAM     the first eight slots of FILE's hosts
  bprun -H localhost:2,127.0.0.1:1 PROGRAM
                                         this machine as two hosts, for a try
  bprun -H a:3,b:1 --dry-run PROGRAM     what would be started
  bprun doctor -H a,b                    whether these hosts are fit for a job
  bprun gpus -H a,b                      their GPUs, and who uses them
  bprun sweep SPACE.yaml -- PROGRAM      the program with many sets of options)";

void describe_joining(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option("--serve", options.serve_port,
                 "start -n ranks on this machine's slots and on machines that join at PORT")
      ->type_name("PORT");
  app.add_option("--join", raw.join, "join the job of a bprun --serve and run ranks of it here")
      ->type_name("HOST:PORT");
  app.add_option("--slots", raw.slots,
                 "run N ranks on this machine, with --serve or --join (default: 1)")
      ->type_name("N");
  app.add_option(
         "--first-rank", options.first_rank,
         "number this machine's ranks from R, with --serve or --join (default: the next free rank)")
      ->type_name("R");
}

void describe_output(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option("--stdin", raw.input,
                 "give bprun's stdin to rank 0, or with none leave it unread (default: 0)")
      ->type_name("WHO");
  app.add_option("--prefix", raw.prefix,
                 "begin each output line with: rank, none, horovod or time (default: rank)")
      ->type_name("STYLE");
  app.add_option("--show-ranks", raw.shown_ranks,
                 "show the output of these ranks only (default: all)")
      ->type_name("0,2-3");
  app.add_flag("-q,--quiet", options.quiet,
               "print nothing of bprun's own except the report of a failure");
  app.add_option("--color", raw.colours,
                 "colour prefixes: auto, always or never (default: auto, which obeys NO_COLOR)")
      ->type_name("WHEN");
  app.add_option("--output", options.output,
                 "also write DIR/JOB/rank.N/stdout and stderr; DIR/latest links the newest job")
      ->type_name("DIR");
  app.add_option("--output-limit", raw.output_limit,
                 "rotate a file of --output at SIZE, such as 100M (default: no limit)")
      ->type_name("SIZE");
  app.add_option("--trace", options.trace,
                 "have programs of bp write a timeline of each rank to DIR/rank-N.json")
      ->type_name("DIR");
}

void describe_environment(CLI::App& app, Options& options) {
  app.add_option("--env", options.environment,
                 "pass the variable to other hosts too; with =VALUE set it for all ranks")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_flag("--env-all", options.whole_environment, "pass the whole environment to other hosts");
}

void describe_failures(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option("--grace", raw.grace,
                 "give ranks TIME to save and end when asked to stop (default: 30s)")
      ->type_name("TIME");
  app.add_flag("--kill-silent{10s}", raw.kill_silent,
               "end the job if a rank sends no heartbeat for TIME (10s); by default bprun only "
               "names such a rank");
  app.add_option("--lost-after", raw.lost_after,
                 "count a host as lost after TIME without a heartbeat (default: 9s)")
      ->type_name("TIME");
  app.add_option("--on-failure", raw.on_failure,
                 "stop the job when a rank fails, or continue with the others (default: stop)")
      ->type_name("WHAT");
  app.add_option("--max-restarts", options.max_restarts,
                 "restart up to N times after a failure or a lost host (default: 0)")
      ->type_name("N");
  app.add_option("--min-ranks", options.min_ranks,
                 "restart with fewer hosts if at least M ranks still fit (default: all ranks)")
      ->type_name("M");
}

void describe_resources(CLI::App& app, Options& options) {
  app.add_option("--gpus", options.gpus,
                 "assign one GPU per rank: all, 0,2-3, or least:N for the N least busy (default: "
                 "none)")
      ->type_name("WHICH");
  app.add_flag("--share-gpus", options.share_gpus, "allow more ranks than GPUs");
  app.add_flag_callback(
      "--no-probe", [&options] { options.probe = false; },
      "start even if hosts cannot reach each other, for programs without a network");
  app.add_option("--store-port", options.store_port,
                 "use this port for the job's store (default: any free port)")
      ->type_name("PORT");
}

// Options that show something instead of running a job.
void describe_listings(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_flag("--dry-run", options.dry_run,
               "show hosts, ranks, variables and commands; start nothing");
  app.add_flag("--check-build", raw.check_build,
               "show the backends, engines and versions of this build and exit");
  app.add_option("--completion", raw.completion,
                 "print the completion of a shell: source <(bprun --completion bash)")
      ->type_name("SHELL");
  app.add_flag("--json", options.json, "print --dry-run and --check-build as JSON");
}

}  // namespace

void describe_options(CLI::App& app, Options& options, RawOptions& raw) {
  app.description(kIntroduction);
  app.set_help_flag("-h,--help", "show this and exit");
  app.set_version_flag("--version",
                       concat("bprun ", own_version(), " (build ", own_build().substr(0, 12), ")"),
                       "show the version and exit");
  app.add_option("-n", options.ranks, "number of ranks (default: all slots of the hosts, or 1)")
      ->type_name("N");
  add_host_options(app, options);
  describe_joining(app, options, raw);
  describe_output(app, options, raw);
  describe_environment(app, options);
  describe_failures(app, options, raw);
  describe_resources(app, options);
  describe_listings(app, options, raw);
  app.prefix_command();
}

}  // namespace bp::launcher
