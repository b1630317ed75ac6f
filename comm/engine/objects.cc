// Collectives on objects whose size only their owner knows. The lengths travel first, then the
// bytes.
#include <cstdint>
#include <numeric>
#include <span>

#include "bp/collective.h"

namespace bp {
namespace {

View bytes_of(std::string& text) {
  return view(std::span(reinterpret_cast<std::uint8_t*>(text.data()), text.size()));
}
ConstView bytes_of(std::string_view text) {
  return const_view(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace

void broadcast_object(Communicator& comm, std::string& bytes, const CollectiveOptions& options) {
  auto length = static_cast<std::int64_t>(bytes.size());
  broadcast(comm, view(std::span(&length, 1)), options);
  bytes.resize(static_cast<std::size_t>(length));
  broadcast(comm, bytes_of(bytes), options);
}

std::vector<std::string> all_gather_object(Communicator& comm,
                                           std::string_view bytes,
                                           const CollectiveOptions& options) {
  const auto own = static_cast<std::int64_t>(bytes.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(std::span(&own, 1)), view(lengths), options);
  const std::vector<std::size_t> counts(lengths.begin(), lengths.end());
  std::string all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), '\0');
  all_gather_v(comm, bytes_of(bytes), bytes_of(all), counts, options);
  std::vector<std::string> objects;
  std::size_t begin = 0;
  for (const std::size_t count : counts) {
    objects.push_back(all.substr(begin, count));
    begin += count;
  }
  return objects;
}

}  // namespace bp
