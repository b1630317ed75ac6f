#include "launcher/cli/host_options.h"

#include "bp/error.h"

namespace bp::launcher {

void add_host_options(CLI::App& app, Options& options) {
  app.add_option("-H", options.host_list,
                 "run on these hosts: a:3,u@gpu[01-08]:4,[fe80::1]:2 (default: those of a batch "
                 "job, or this machine)")
      ->type_name("HOST:SLOTS,...");
  app.add_option("--hostfile", options.hostfile,
                 "read hosts from FILE, one per line: NAME slots=N max_slots=M gpus=0,2 iface=eth1 "
                 "port=22 user=u # note")
      ->type_name("FILE");
  app.add_option("--hosts", options.host_map,
                 R"(read hosts from a JSON file: {"a":3,"b":{"slots":2,"gpus":[0,2]}})")
      ->type_name("MAP.json");
  app.add_option("--include", options.selection.include,
                 "use only these hosts, or these of their slots: a,b:0,2-3")
      ->type_name("HOST[:SLOT,...],...");
  app.add_option("--exclude", options.selection.exclude, "use all hosts or slots except these")
      ->type_name("HOST[:SLOT,...],...");
  app.add_option("--ssh", options.ssh, "reach hosts with CMD instead of ssh: 'ssh -F FILE'")
      ->type_name("CMD");
  app.add_option("--remote-bprun", options.remote_bprun,
                 "use this bprun on other hosts (default: the same path as here)")
      ->type_name("PATH");
  app.add_option(
         "--interface", options.interface,
         "connect hosts through this network (10.0.0.0/8), interface or address (default: one "
         "that all hosts reach)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--start-timeout",
         [&options](const std::string& text) {
           options.start_timeout = parse_duration(text, "--start-timeout");
         },
         "wait TIME for hosts to answer and ranks to find each other (default: 30s)")
      ->type_name("TIME");
}

void check_host_options(const Options& options) {
  const int given = int{options.host_list.has_value()} + int{options.hostfile.has_value()} +
                    int{options.host_map.has_value()};
  if (given > 1) {
    throw Error(ErrorCode::invalid_argument, "give only one of -H, --hostfile and --hosts");
  }
}

}  // namespace bp::launcher
