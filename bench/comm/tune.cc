#include "bench/comm/tune.h"

#include <iomanip>
#include <limits>
#include <vector>

#include "base/text.h"
#include "bench/comm/algorithm.h"
#include "bp/error.h"
#include "comm/backend/common/registry.h"
#include "comm/engine/api/impl.h"

namespace bp::bench {
namespace {

struct Best {
  double microseconds = std::numeric_limits<double>::infinity();
  Algorithm algorithm = Algorithm::ring;
};

void check_choice(const Communicator& comm) {
  const BackendEntry* const backend = find_backend(comm.backend());
  if (comm.size() > 1 && (backend == nullptr || backend->no_choice.empty())) return;
  throw Error(ErrorCode::invalid_argument,
              concat("--tune: the backend ", comm.backend(),
                     " has one algorithm only (ranks of one host: try --backend gloo)"));
}

}  // namespace

SelectionTable tune(Communicator& comm, const Options& options, std::ostream& out) {
  check_choice(comm);
  const std::vector<int>& hosts = comm.topology().local_sizes;
  const std::vector<std::size_t> sizes = sizes_of(options);
  std::vector<Best> best(sizes.size());
  for (const std::string& name : algorithm_names()) {
    if (name == "auto" || !can_run(name, hosts)) continue;
    CommunicatorOptions as = comm.impl().options();
    as.algorithm = name;
    Communicator group = split_with(comm, 0, as);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Task task = make_task(group, "all_reduce", options.type, sizes[i], {options.memory});
      const double took = measure(group, task, pace_for(options, sizes[i])).median_us;
      if (took < best[i].microseconds) best[i] = {took, parse_algorithm(name, hosts)};
      if (comm.rank() != 0) continue;
      out << std::left << std::setw(20) << name << std::right << std::setw(13) << sizes[i]
          << std::setw(13) << std::fixed << std::setprecision(1) << took << std::endl;
    }
  }
  SelectionTable table;
  const SelectionKey key{std::string(comm.backend()), comm.size(), comm.topology().hosts()};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool last = i + 1 == sizes.size();
    if (!last && best[i + 1].algorithm == best[i].algorithm) continue;
    table.add(key, {last ? kAllThatIsLonger : sizes[i + 1], best[i].algorithm});
  }
  return table;
}

}  // namespace bp::bench
