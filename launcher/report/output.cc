#include "launcher/report/output.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "bp/error.h"
#include "comm/base/text.h"

namespace bp::launcher {
namespace {

// More than this waiting to be written, and the ranks are slowed down.
constexpr std::size_t kMaxPending = 1U << 20U;
constexpr std::size_t kTail = 16U << 10U;

// DIR/rank.07, with as many digits as the highest rank has.
std::filesystem::path rank_folder(const OutputOptions& options, int rank) {
  const std::size_t width = std::to_string(options.world_size - 1).size();
  const std::string digits = std::to_string(rank);
  return std::filesystem::path(options.folder) /
         concat("rank.", std::string(width - digits.size(), '0'), digits);
}

Fd open_file(const std::filesystem::path& folder, Stream stream, bool go_on) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder / (stream == Stream::out ? "stdout" : "stderr");
  const int how = go_on ? O_APPEND : O_TRUNC;
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | how | O_CLOEXEC, 0666));
  if (!file) {
    throw Error(ErrorCode::io, concat("--output: cannot write ", path, ": ", error_text(errno)));
  }
  return file;
}

}  // namespace

OutputHub::OutputHub(EventLoop& loop,
                     const OutputOptions& options,
                     std::function<void(int, std::uint32_t)> taken)
    : options_(options),
      taken_(std::move(taken)),
      out_(loop, STDOUT_FILENO, [this] { settle(); }),
      err_(loop, STDERR_FILENO, [this] { settle(); }),
      tails_(static_cast<std::size_t>(options.world_size)) {
  for (int rank = 0; rank < options.world_size; ++rank) {
    for (const Stream stream : {Stream::out, Stream::err}) {
      Fd file;
      if (!options.folder.empty()) {
        file = open_file(rank_folder(options, rank), stream, options.go_on);
      }
      streams_.push_back({LineAssembler(options.style, rank, stream), std::move(file)});
    }
  }
}

OutputHub::RankStream& OutputHub::stream_of(const Output& output) {
  return streams_.at(static_cast<std::size_t>(output.rank) * 2 +
                     (output.stream == Stream::out ? 0 : 1));
}

void OutputHub::add(const Output& output) {
  RankStream& stream = stream_of(output);
  const auto now = std::chrono::system_clock::now();
  std::string lines;
  if (output.data.empty()) {
    stream.lines.finish(now, lines);
  } else {
    stream.lines.feed(output.data, now, lines);
    write_file(output);
    debts_.push_back({output.rank, static_cast<std::uint32_t>(output.data.size())});
  }
  if (output.stream == Stream::err) {
    std::string& tail = tails_[static_cast<std::size_t>(output.rank)];
    tail += output.data;
    if (tail.size() > 4 * kTail) {
      tail.erase(0, tail.size() - kTail);
    }
  }
  (output.stream == Stream::out ? out_ : err_).write(lines);
  settle();
}

void OutputHub::write_file(const Output& output) {
  const int file = stream_of(output).file.get();
  if (file < 0 || write_all(file, output.data.data(), output.data.size()) == output.data.size()) {
    return;
  }
  const int reason = errno;
  if (!std::exchange(file_trouble_told_, true)) {
    say(concat("bprun: warning: output files are incomplete from here on: ", error_text(reason)));
  }
}

void OutputHub::settle() {
  if (out_.pending() + err_.pending() <= kMaxPending) {
    for (const Debt& debt : std::exchange(debts_, {})) {
      taken_(debt.rank, debt.bytes);
    }
  }
}

void OutputHub::say(std::string_view text) {
  err_.write(concat(err_.at_line_start() ? "" : "\n", text, "\n"));
}

std::string OutputHub::error_file(int rank) const {
  return options_.folder.empty() ? "" : (rank_folder(options_, rank) / "stderr").string();
}

std::vector<std::string> OutputHub::last_errors(int rank, std::size_t lines) const {
  LineAssembler assembler(PrefixStyle::rank, 0, Stream::err);
  const std::size_t prefix = std::string_view("[0] ").size();
  std::string text;
  assembler.feed(tails_.at(static_cast<std::size_t>(rank)), {}, text);
  assembler.finish({}, text);
  std::vector<std::string> last;
  while (last.size() < lines && !text.empty()) {
    text.pop_back();
    const std::size_t start = text.rfind('\n') + 1;
    last.push_back(text.substr(start + prefix));
    text.resize(start);
  }
  std::reverse(last.begin(), last.end());
  return last;
}

}  // namespace bp::launcher
