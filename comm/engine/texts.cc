#include "comm/engine/texts.h"

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

std::vector<std::string> gather_texts(Communicator& comm,
                                      std::string_view mine,
                                      std::string_view name) {
  const auto own = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(std::span(&own, 1)), view(lengths), {.name = name});
  const std::vector<std::size_t> counts(lengths.begin(), lengths.end());
  std::string all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), '\0');
  all_gather_v(comm, bytes_of(mine), bytes_of(all), counts, {.name = name});
  std::vector<std::string> texts;
  std::size_t begin = 0;
  for (const std::size_t count : counts) {
    texts.push_back(all.substr(begin, count));
    begin += count;
  }
  return texts;
}

void broadcast_text(Communicator& comm, std::string& text, int root, std::string_view name) {
  auto length = static_cast<std::int64_t>(text.size());
  std::span one(&length, 1);
  broadcast(comm, view(one), {.root = root, .name = name});
  text.resize(static_cast<std::size_t>(length));
  broadcast(comm, bytes_of(text), {.root = root, .name = name});
}

}  // namespace bp
