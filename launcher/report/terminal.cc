#include "launcher/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/utf8.h"

namespace bp::launcher {
namespace {

constexpr int kUsualColumns = 80;

// Returns the length of the control sequence at the start of `text`: ESC [ ... letter, or ESC
// letter.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') {
    return std::min<std::size_t>(text.size(), 2);
  }
  const auto ends = [](char c) { return c >= '@' && c <= '~'; };
  std::size_t length = 2;
  while (length < text.size() && !ends(text[length])) {
    ++length;
  }
  return std::min(length + 1, text.size());
}

}  // namespace

bool can_redraw(int fd) {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(fd) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool wants_colours(ColourChoice choice, int fd) {
  const char* const refused = std::getenv("NO_COLOR");
  const bool wanted = can_redraw(fd) && (refused == nullptr || *refused == '\0');
  return choice == ColourChoice::always || (choice == ColourChoice::automatic && wanted);
}

int columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

std::string_view colour_of_rank(int rank) {
  static constexpr std::array<std::string_view, 6> kColours{"\x1b[36m", "\x1b[32m", "\x1b[35m",
                                                            "\x1b[34m", "\x1b[96m", "\x1b[92m"};
  return kColours[static_cast<std::size_t>(rank) % kColours.size()];
}

std::string fit_line(std::string_view text, std::size_t columns) {
  std::string line;
  for (std::size_t used = 0; !text.empty();) {
    if (text.front() == '\x1b') {
      text.remove_prefix(sequence_length(text));
      continue;
    }
    if (!continues_character(text.front()) && used++ == columns) {
      break;
    }
    line += static_cast<unsigned char>(text.front()) < ' ' ? ' ' : text.front();
    text.remove_prefix(1);
  }
  return line;
}

}  // namespace bp::launcher
