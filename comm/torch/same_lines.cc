#include "comm/torch/same_lines.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"

namespace bp {
namespace {

// FNV-1a, 64 bits.
std::int64_t hash(std::string_view text) {
  std::uint64_t h = 14695981039346656037U;
  for (const char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return static_cast<std::int64_t>(h);
}

std::vector<std::int64_t> gather(Communicator& comm, std::int64_t mine, std::string_view name) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(std::span(&mine, 1)), view(all), {.name = name});
  return all;
}

// Removes the next line from `rest` and returns it; "nothing more" at the end.
std::string_view take_line(std::string_view& rest) {
  if (rest.empty()) {
    return "nothing more";
  }
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(line.size() + 1);
  return line;
}

std::string first_difference(const std::vector<std::string>& texts) {
  const auto odd = std::ranges::find_if(texts, [&](const auto& t) { return t != texts[0]; });
  if (odd == texts.end()) {
    return "the ranks' hashes differ, but not their texts";
  }
  std::string_view theirs = *odd;
  std::string_view first = texts[0];
  std::string_view their_line;
  std::string_view first_line;
  do {
    their_line = take_line(theirs);
    first_line = take_line(first);
  } while (their_line == first_line);
  return concat("rank ", odd - texts.begin(), " has \"", their_line, "\" where rank 0 has \"",
                first_line, "\"");
}

}  // namespace

void require_same_lines(Communicator& comm,
                        const std::vector<std::string>& lines,
                        const std::string& what,
                        const std::string& advice) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + '\n';
  }
  const auto hashes = gather(comm, hash(text), what);
  if (std::ranges::adjacent_find(hashes, std::not_equal_to{}) == hashes.end()) {
    return;
  }
  const auto texts = all_gather_object(comm, text, {.name = "texts"});
  try {
    barrier(comm, {.name = "all texts"});
  } catch (const Error&) {
    // Another rank has thrown below and left. By then every rank has the texts, also this one.
  }
  throw Error(ErrorCode::mismatch, concat(what, ": ", first_difference(texts), ": ", advice));
}

}  // namespace bp
