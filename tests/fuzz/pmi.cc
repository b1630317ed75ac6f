// The answers of a process manager to a rank that looks up the job's store with PMI-1, one per
// line.
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <sstream>

#include "base/system/fd.h"
#include "comm/rendezvous/channels.h"
#include "fuzz.h"

FUZZ_TARGET(pmi) {
  using namespace bp;
  // Sends a packet for each line, because the rank reads one answer before it asks for the next.
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
  const Fd rank(ends[0]);
  const Fd manager(ends[1]);
  std::istringstream lines(bp::test::text_of(data, size));
  for (std::string line; std::getline(lines, line);) {
    line += '\n';
    if (::send(manager.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
  }
  ::shutdown(manager.get(), SHUT_WR);
  const Variables variables({{"PMI_RANK", "1"}, {"PMI_FD", std::to_string(rank.get())}});
  bp::test::read_anything([&] {
    const auto rendezvous = rendezvous_by_pmi(
        {.launcher = "pmi", .found_by = "PMI_RANK=1", .rank = 1, .size = 2}, variables);
    const StoreEndpoint endpoint = rendezvous->look_up(Deadline(std::chrono::seconds(1)));
    if (endpoint.store.host.empty() || endpoint.store.port < 1) std::abort();
  });
  return 0;
}
