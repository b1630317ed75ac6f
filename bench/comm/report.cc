#include "bench/comm/report.h"

#include <sys/utsname.h>

#include <cmath>
#include <fstream>
#include <iomanip>
#include <thread>

#include <nlohmann/json.hpp>

#include "bench/build_info.h"
#include "bp/version.h"

namespace bp::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// Digits below a nanosecond, or a thousandth of a GB/s, are noise.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

// Widths of the columns in the order of print_row.
constexpr int kText = 15;
constexpr int kAlgorithm = 20;
constexpr int kNarrow = 7;
constexpr int kNumber = 13;

}  // namespace

double Row::algorithm_bandwidth() const {
  return measured.median_us > 0 ? static_cast<double>(bytes) / measured.median_us * 1e-3 : 0;
}

void print_machine(std::ostream& out) {
  utsname system{};
  ::uname(&system);
  out << "# comm_bench " BP_VERSION ", commit " BP_COMMIT "\n"
      << "# host " << system.nodename << ", " << std::thread::hardware_concurrency() << " cores ("
      << processor() << "), " << system.sysname << ' ' << system.release << "\n"
      << "# " BP_COMPILER ", " BP_FLAGS "\n";
  if (BP_NOT_FOR_MEASURING[0] != '\0') {
    out << "# warning: " BP_NOT_FOR_MEASURING ": these times say nothing about bp\n";
  }
}

void print_heading(std::ostream& out) {
  out << std::left << std::setw(kText) << "op" << std::setw(kText) << "backend"
      << std::setw(kAlgorithm) << "algorithm" << std::setw(kNarrow) << "dtype" << std::right
      << std::setw(kNumber) << "bytes" << std::setw(kNarrow) << "ranks" << std::setw(kNarrow)
      << "hosts" << std::setw(kNumber) << "median_us" << std::setw(kNumber) << "p99_us"
      << std::setw(kNumber) << "algbw_gbps" << std::setw(kNumber) << "busbw_gbps"
      << std::setw(kNarrow) << "wrong" << std::endl;
}

void print_row(std::ostream& out, const Row& row) {
  out << std::left << std::setw(kText) << row.op << std::setw(kText) << row.backend
      << std::setw(kAlgorithm) << row.algorithm << std::setw(kNarrow) << name_of(row.type)
      << std::right << std::fixed << std::setw(kNumber) << row.bytes << std::setw(kNarrow)
      << row.ranks << std::setw(kNarrow) << row.hosts << std::setprecision(2) << std::setw(kNumber)
      << row.measured.median_us << std::setw(kNumber) << row.measured.p99_us << std::setprecision(3)
      << std::setw(kNumber) << row.algorithm_bandwidth() << std::setw(kNumber)
      << row.bus_bandwidth() << std::setw(kNarrow) << row.measured.wrong << std::endl;
}

void print_json(std::ostream& out, const Row& row) {
  const nlohmann::ordered_json line = {{"op", row.op},
                                       {"backend", row.backend},
                                       {"algorithm", row.algorithm},
                                       {"dtype", name_of(row.type)},
                                       {"bytes", row.bytes},
                                       {"ranks", row.ranks},
                                       {"hosts", row.hosts},
                                       {"median_us", rounded(row.measured.median_us)},
                                       {"p99_us", rounded(row.measured.p99_us)},
                                       {"algbw_gbps", rounded(row.algorithm_bandwidth())},
                                       {"busbw_gbps", rounded(row.bus_bandwidth())},
                                       {"wrong", row.measured.wrong}};
  out << line.dump() << std::endl;
}

}  // namespace bp::bench
