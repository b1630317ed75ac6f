#include "comm/message/circle.h"

#include <algorithm>
#include <locale>
#include <sstream>

namespace bp {
namespace {

void write_list(std::ostream& out, const std::vector<std::uint64_t>& list) {
  out << list.size();
  for (const std::uint64_t one : list) out << ' ' << one;
  out << '\n';
}

std::vector<std::uint64_t> read_list(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<std::uint64_t> list;
  while (list.size() < count && in) in >> list.emplace_back();
  return list;
}

std::uint64_t number_of(const std::vector<std::uint64_t>& list, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  return index < list.size() ? list[index] : 0;
}

// True if `from` cannot continue unless `to` does something that it has not done yet.
bool waits_for(int from, const WaitNote& waiting, int to, const WaitNote& other) {
  if (waiting.kind == WaitNote::Kind::send) {
    return other.unreceived.contains({from, waiting.number});
  }
  return number_of(other.posted, from) == number_of(waiting.handled, to);
}

}  // namespace

std::string to_text(const WaitNote& note) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << static_cast<int>(note.kind) << ' ' << note.peer << ' ' << note.number << '\n';
  write_list(out, note.posted);
  write_list(out, note.handled);
  out << note.unreceived.size();
  for (const auto& [sender, number] : note.unreceived) out << ' ' << sender << ' ' << number;
  out << '\n' << note.what;
  return out.str();
}

std::optional<WaitNote> wait_note_of(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  WaitNote note;
  int kind = 0;
  std::size_t count = 0;
  in >> kind >> note.peer >> note.number;
  note.kind = static_cast<WaitNote::Kind>(kind);
  note.posted = read_list(in);
  note.handled = read_list(in);
  in >> count;
  for (; count > 0 && in; --count) {
    int sender = 0;
    std::uint64_t number = 0;
    in >> sender >> number;
    note.unreceived.emplace(sender, number);
  }
  if (!in || kind < 0 || kind > static_cast<int>(WaitNote::Kind::finished)) return std::nullopt;
  in.ignore(1);
  std::getline(in, note.what, '\0');
  return note;
}

std::optional<WaitCircle> find_circle(int rank, std::uint64_t begun, const NoteOf& note_of) {
  std::vector<std::pair<int, WaitNote>> chain;
  for (int at = rank;;) {
    const auto note = note_of(at);
    if (!note) return std::nullopt;
    if (!chain.empty() && !waits_for(chain.back().first, chain.back().second, at, *note)) {
      return std::nullopt;
    }
    const auto known =
        std::ranges::find_if(chain, [&](const auto& one) { return one.first == at; });
    if (known != chain.end()) return WaitCircle{{known, chain.end()}, true};
    chain.emplace_back(at, *note);
    if (note->kind == WaitNote::Kind::finished) return WaitCircle{std::move(chain), false};
    if (note->kind == WaitNote::Kind::collective) {
      // This rank is one of those that the collective waits for, and waits for a message itself.
      if (chain.size() < 2 || begun > note->number) return std::nullopt;
      return WaitCircle{std::move(chain), false};
    }
    if (note->peer < 0) return std::nullopt;
    at = note->peer;
  }
}

}  // namespace bp
