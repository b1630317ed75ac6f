#include "comm/shared/connect_host.h"

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/peers/connect.h"
#include "comm/shared/message.h"

namespace bp {
namespace {

SharedHost::Neighbour take_memory(const HostGroup& group, Fd link, const Deadline& deadline) {
  NeighbourMessage message = receive_message(link.get(), deadline);
  if (!message.file) {
    throw Error(ErrorCode::io,
                concat("rank ", group.rank, " cannot take the memory of a neighbour: ",
                       error_text(EMFILE), "; raise the limit (ulimit -n)"));
  }
  SharedMemory memory = SharedMemory::open(std::move(message.file));
  const std::span<std::byte> mapped = memory.bytes();
  return {mapped, std::move(link), std::move(memory)};
}

}  // namespace

std::shared_ptr<SharedHost> connect_host(const HostGroup& group, Store& store) {
  const Deadline deadline(group.timeout);
  const auto own =
      std::make_shared<Arena>(SharedMemory::create("bp arena", arena_bytes(group.count)));
  const PeerGroup peers{
      .rank = group.rank,
      .first = group.first,
      .count = group.count,
      .key = group.key,
      .timeout = group.timeout,
      .keys = "shm/",
      .purpose = "share memory",
      .with = "with",
      .hint = " (in another container? then make it another host, or set BP_BACKEND=gloo)"};
  std::vector<Fd> links = connect_peers(peers, listen_unix(), store);
  for (const Fd& link : links) {
    if (link) send_message(link.get(), "memory", own->memory().file().get());
  }
  std::vector<SharedHost::Neighbour> neighbours;
  for (Fd& link : links) {
    neighbours.push_back(link ? take_memory(group, std::move(link), deadline)
                              : SharedHost::Neighbour{own->memory().bytes(), Fd(), SharedMemory()});
  }
  return std::make_shared<SharedHost>(own, std::move(neighbours), group.first);
}

}  // namespace bp
