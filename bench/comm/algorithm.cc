#include "bench/comm/algorithm.h"

#include <iomanip>
#include <string_view>

#include "base/text.h"
#include "bench/comm/task.h"
#include "comm/engine/api/impl.h"

namespace bp::bench {
namespace {

Operation::Kind kind_named(const std::string& op) {
  auto kind = Operation::Kind::all_reduce;
  while (name_of(kind) != op) kind = static_cast<Operation::Kind>(static_cast<int>(kind) + 1);
  return kind;
}

}  // namespace

std::string algorithm_used(const Communicator& comm, const std::string& op, std::size_t bytes) {
  if (kind_named(op) == Operation::Kind::message) return op;  // needs no backend
  const Backend& backend = comm.impl().engine().setup().backends.host();
  return std::string(backend.algorithm_of(kind_named(op), bytes));
}

std::string algorithm_that_ran(const Communicator& comm, const std::string& op, const Task& task) {
  std::string algorithm = algorithm_used(comm, op, task.bytes);
  if (algorithm != "direct" && task.place.device == Device{}) return algorithm;
  for (const RecordedOperation& record : comm.recent()) {
    if (record.text.starts_with(op) && record.text.ends_with("'comm_bench'")) {
      algorithm = record.algorithm;
    }
  }
  return algorithm;
}

std::string backend_that_ran(const Communicator& comm, const Device& device) {
  std::string host(comm.backend());
  if (device.kind == Device::Kind::host) return host;
  const std::string_view name = comm.impl().engine().setup().backends.on(device).name();
  return name == "staged" ? concat(name, "+", host) : std::string(name);
}

void print_selection(std::ostream& out, const Communicator& comm) {
  constexpr int kLargestPower = 40;
  const auto print = [&](const std::string& op, const std::string& sizes, const std::string& by) {
    out << std::left << std::setw(16) << op << std::setw(26) << sizes << by << '\n';
  };
  out << "# " << comm.size() << " ranks on " << comm.topology().hosts() << " hosts, backend "
      << comm.backend() << '\n';
  print("op", "bytes", "algorithm");
  for (const std::string& op : operation_names()) {
    std::size_t from = 0;
    std::string algorithm = algorithm_used(comm, op, 0);
    for (int power = 0; power <= kLargestPower; ++power) {
      const std::size_t bytes = std::size_t{1} << power;
      const std::string next = algorithm_used(comm, op, bytes);
      if (next == algorithm) continue;
      print(op, concat(from, " to ", bytes - 1), algorithm);
      from = bytes;
      algorithm = next;
    }
    print(op, from == 0 ? "any" : concat("from ", from), algorithm);
  }
}

}  // namespace bp::bench
