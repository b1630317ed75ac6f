// Collectives on objects whose size only their owner knows. The lengths travel first, then the
// bytes.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"

namespace bp {
namespace {

View bytes_of(std::string& text) {
  return view(std::span(reinterpret_cast<std::uint8_t*>(text.data()), text.size()));
}
ConstView bytes_of(std::string_view text) {
  return const_view(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

// Adds the length that a rank announced to `total`.
void add_length(std::size_t& total, std::int64_t length, int rank, std::string_view called) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (length >= 0 && static_cast<std::size_t>(length) <= kMost - total) {
    total += static_cast<std::size_t>(length);
    return;
  }
  throw Error(ErrorCode::io, concat(called, ": rank ", rank, " announced an object of ", length,
                                    " bytes, which cannot be (do all ranks run the same version "
                                    "of bp and of the program?)"));
}

}  // namespace

void broadcast_object(Communicator& comm, std::string& bytes, const CollectiveOptions& options) {
  auto length = static_cast<std::int64_t>(bytes.size());
  broadcast(comm, view(std::span(&length, 1)), options);
  std::size_t size = 0;
  add_length(size, length, options.root, "broadcast_object");
  bytes.resize(size);
  broadcast(comm, bytes_of(bytes), options);
}

std::vector<std::string> all_gather_object(Communicator& comm,
                                           std::string_view bytes,
                                           const CollectiveOptions& options) {
  const auto own = static_cast<std::int64_t>(bytes.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(std::span(&own, 1)), view(lengths), options);
  std::size_t total = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    add_length(total, lengths[static_cast<std::size_t>(rank)], rank, "all_gather_object");
  }
  const std::vector<std::size_t> counts(lengths.begin(), lengths.end());
  std::string all(total, '\0');
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
