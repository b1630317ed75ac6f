// Measures the collectives: see comm_bench --help and bench/README.md. Each rank runs this program,
// and rank 0 reports.
#include <cerrno>
#include <fstream>
#include <iostream>

#include "base/text.h"
#include "bench/comm/algorithm.h"
#include "bench/comm/measure.h"
#include "bench/comm/options.h"
#include "bench/comm/report.h"
#include "bench/comm/task.h"
#include "bench/comm/tune.h"
#include "bp/communicator.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "comm/device/device_memory.h"

namespace {

using namespace bp::bench;  // NOLINT(google-build-using-namespace): this program's own

constexpr int kWrongResults = 70;

int exit_code_of(bp::ErrorCode code) {
  switch (code) {
    case bp::ErrorCode::invalid_argument:
      return 2;
    case bp::ErrorCode::unavailable:
      return 69;
    default:
      return 70;
  }
}

std::ofstream open_file(const char* option, const std::string& path) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path);
  if (!file) {
    throw bp::Error(bp::ErrorCode::invalid_argument,
                    bp::concat(option, ": cannot write ", path, ": ", bp::error_text(errno),
                               "; give a file in a folder that exists"));
  }
  return file;
}

int measure_all(bp::Communicator& comm, const Options& options) {
  const bool reports = comm.rank() == 0;
  const Place place{options.memory, own_device(options.device, comm.topology().local_rank())};
  std::ofstream json = open_file("--json", reports ? options.json : "");
  if (reports) {
    print_machine(std::cout);
    print_heading(std::cout);
  }
  std::int64_t wrong = 0;
  for (const std::size_t bytes : sizes_of(options)) {
    Task task = make_task(comm, options.op, options.type, bytes, place);
    const Measurement measured = measure(comm, task, pace_for(options, bytes));
    const Row row{.op = options.op,
                  .backend = backend_that_ran(comm, place.device),
                  .algorithm = algorithm_that_ran(comm, options.op, task),
                  .type = options.type,
                  .bytes = task.bytes,
                  .ranks = comm.size(),
                  .hosts = comm.topology().hosts(),
                  .measured = measured,
                  .bus_factor = task.bus_factor};
    wrong += row.measured.wrong;
    if (!reports) continue;
    print_row(std::cout, row);
    if (json.is_open()) print_json(json, row);
  }
  if (reports && wrong > 0) std::cerr << "comm_bench: " << wrong << " elements were wrong\n";
  return wrong > 0 ? kWrongResults : 0;
}

int run(int argc, char** argv) {
  const int rank = bp::Environment::current().topology.rank;
  const CommandLine line = parse_command_line(argc, argv);
  if (!line.options) {
    if (rank == 0) (line.exit_code == 0 ? std::cout : std::cerr) << line.text;
    return line.exit_code;
  }
  bp::CommunicatorOptions options;
  options.backend = line.options->backend;
  options.algorithm = line.options->algorithm;
  bp::Communicator comm = bp::Communicator::create(options);
  int code = 0;
  if (!line.options->tune.empty()) {
    std::ofstream file = open_file("--tune", comm.rank() == 0 ? line.options->tune : "");
    const bp::SelectionTable fastest = tune(comm, *line.options, std::cout);
    if (comm.rank() == 0) fastest.write(file);
  } else if (!line.options->show_selection) {
    code = measure_all(comm, *line.options);
  } else if (comm.rank() == 0) {
    print_selection(std::cout, comm);
  }
  comm.finish();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const bp::Error& error) {
    std::cerr << "comm_bench: " << error.what() << '\n';
    return exit_code_of(error.code());
  } catch (const std::exception& error) {
    std::cerr << "comm_bench: " << error.what() << '\n';
    return 70;
  }
}
