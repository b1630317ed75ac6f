#include "launcher/job/host_options.h"

#include "bp/error.h"

namespace bp::launcher {

void add_host_options(CLI::App& app, Options& options) {
  app.add_option("-H", options.host_list,
                 "hosts, as a:3,u@gpu[01-08]:4,[fe80::1]:2 (default: a batch job's, or this "
                 "machine)")
      ->type_name("HOST:SLOTS,...");
  app.add_option("--hostfile", options.hostfile,
                 "file with a host a line: NAME slots=N max_slots=M gpus=0,2 iface=eth1 port=22 "
                 "user=u # note")
      ->type_name("FILE");
  app.add_option("--hosts", options.host_map, R"(file with {"a":3,"b":{"slots":2,"gpus":[0,2]}})")
      ->type_name("MAP.json");
  app.add_option("--include", options.selection.include,
                 "only these of the hosts, or of their slots: a,b:0,2-3")
      ->type_name("HOST[:SLOT,...],...");
  app.add_option("--exclude", options.selection.exclude, "all but these")
      ->type_name("HOST[:SLOT,...],...");
  app.add_option("--ssh", options.ssh, "instead of ssh, split as by a shell: 'ssh -F FILE'")
      ->type_name("CMD");
  app.add_option("--remote-bprun", options.remote_bprun,
                 "bprun on the other hosts (default: the same path as here)")
      ->type_name("PATH");
  app.add_option(
         "--interface", options.interface,
         "by which hosts reach each other: a network as 10.0.0.0/8, an interface's name, or "
         "an address of this machine (default: one that all others reach)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--start-timeout",
         [&options](const std::string& text) {
           options.start_timeout = parse_duration(text, "--start-timeout");
         },
         "for hosts to answer and ranks to find each other (default: 30s)")
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
