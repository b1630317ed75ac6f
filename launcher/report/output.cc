#include "launcher/report/output.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/quoted.h"
#include "base/text.h"

namespace bp::launcher {
namespace {

// While more bytes than this are pending, output is not acknowledged, which slows the ranks down.
constexpr std::size_t kMaxPending = 1U << 20U;
constexpr std::size_t kTail = 16U << 10U;
constexpr std::chrono::milliseconds kRedrawEvery{100};

void keep_tail(std::string& tail, std::string_view data) {
  tail += data;
  if (tail.size() > 4 * kTail) {
    tail.erase(0, tail.size() - kTail);
  }
}

std::size_t shown_ranks(const OutputOptions& options) {
  const auto in_world = std::ranges::lower_bound(options.shown, options.world_size);
  return options.shown.empty() ? static_cast<std::size_t>(options.world_size)
                               : static_cast<std::size_t>(in_world - options.shown.begin());
}

// "stdout (/data/log)"
std::string in_words(const Sink& sink) {
  const char* stream = sink.fd() == STDERR_FILENO ? "stderr" : "stdout";
  const std::string name = sink.name();
  return name.empty() ? stream : concat(stream, " (", name, ")");
}

std::size_t prefix_columns(PrefixStyle style) {  // the width of rank 0's prefix on stderr
  std::string plain;
  make_prefix(style, 0, Stream::err, false).add_to(plain, {});
  return plain.size();
}

}  // namespace

// The last line of a terminal, in which a rank's progress bar is redrawn below all other output.
class LiveLine {
 public:
  // `loop` and `sink` must outlive this object, and `sink` must write to a terminal.
  // `prefix_columns` is the width of the prefix.
  LiveLine(EventLoop& loop, Sink& sink, std::size_t prefix_columns)
      : loop_(loop), sink_(sink), prefix_columns_(prefix_columns) {}
  ~LiveLine() { loop_.cancel(timer_); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Sets the line to `prefix` and as much of `text` as fits next to it. Draws it at once or later,
  // at most ten times per second. An empty `text` removes it.
  void set(std::string_view prefix, std::string_view text);
  // The columns for the text. A line as wide as the terminal would wrap and could not be redrawn.
  [[nodiscard]] int columns() const {
    return std::max(columns_of(sink_.fd()) - static_cast<int>(prefix_columns_) - 1, 0);
  }
  void erase();    // call it before printing other lines on the terminal
  void redraw() {  // call it after them
    if (!drawn_) draw();
  }

 private:
  void draw();

  EventLoop& loop_;
  Sink& sink_;
  std::size_t prefix_columns_;
  std::string prefix_;
  std::string text_;
  bool drawn_ = false;
  EventLoop::Clock::time_point drawn_at_{};
  EventLoop::TimerId timer_ = 0;
};

void LiveLine::set(std::string_view prefix, std::string_view text) {
  if (text == text_) {
    return;
  }
  prefix_ = prefix;
  text_ = text;
  if (text_.empty()) {
    erase();
    return;
  }
  loop_.cancel(timer_);
  const auto due = drawn_at_ + kRedrawEvery - EventLoop::Clock::now();
  if (due.count() <= 0) {
    draw();
  } else {
    timer_ = loop_.after(due, [this] { draw(); });
  }
}

void LiveLine::draw() {
  // Draws nothing while the terminal is paused: states that it has not taken must not pile up.
  if (text_.empty() || columns() == 0 || sink_.pending() != 0) {
    return;
  }
  const std::string shown = fit_line(text_, static_cast<std::size_t>(columns()));
  sink_.write(concat(drawn_ ? kClearLine : "", prefix_, shown));
  drawn_ = true;
  drawn_at_ = EventLoop::Clock::now();
}

void LiveLine::erase() {
  if (drawn_) {
    sink_.write(kClearLine);
    drawn_ = false;
  }
}

OutputHub::OutputHub(EventLoop& loop,
                     const OutputOptions& options,
                     std::function<void(int, std::uint32_t)> taken)
    : loop_(loop),
      options_(options),
      taken_(std::move(taken)),
      files_(options.folder, options.world_size, options.limit),
      out_(loop, STDOUT_FILENO, [this] { acknowledge(); }),
      err_(loop, STDERR_FILENO, [this] { acknowledge(); }),
      err_colours_(wants_colours(options.colours, STDERR_FILENO)),
      warnings_(shown_ranks(options)) {
  if (can_redraw(STDERR_FILENO) && options.style != PrefixStyle::none && is_shown(0)) {
    live_ = std::make_unique<LiveLine>(loop, err_, prefix_columns(options.style));
  }
  for (int rank = 0; rank < options.world_size; ++rank) {
    streams_.push_back(make_stream(rank, Stream::out));
    streams_.push_back(make_stream(rank, Stream::err));
  }
}

OutputHub::~OutputHub() { loop_.cancel(warnings_timer_); }

OutputHub::RankStream OutputHub::make_stream(int rank, Stream stream) const {
  const bool bytes = options_.style == PrefixStyle::none;
  const bool colours =
      stream == Stream::err ? err_colours_ : wants_colours(options_.colours, STDOUT_FILENO);
  const LineMode mode = bytes ? LineMode::bytes : is_live(rank) ? LineMode::live : LineMode::lines;
  return {LineAssembler(mode), make_prefix(options_.style, rank, stream, colours), "",
          is_shown(rank)};
}

bool OutputHub::is_shown(int rank) const {
  return options_.shown.empty() || std::ranges::binary_search(options_.shown, rank);
}

OutputHub::RankStream& OutputHub::stream_of(int rank, Stream stream) {
  return streams_.at(static_cast<std::size_t>(rank) * 2 + (stream == Stream::out ? 0 : 1));
}

void OutputHub::add(const Output& output) {
  RankStream& stream = stream_of(output.rank, output.stream);
  if (!output.data.empty()) {
    files_.write(output);
    unacknowledged_.push_back(
        {.rank = output.rank, .bytes = static_cast<std::uint32_t>(output.data.size())});
  }
  if (output.stream == Stream::err) {
    keep_tail(stream.tail, output.data);
  }
  if (stream.shown) {
    show(output, stream);
    look_for_cut(output, stream);
  }
  acknowledge();
}

void OutputHub::show(const Output& output, RankStream& stream) {
  const auto now = std::chrono::system_clock::now();
  lines_.clear();
  const LineAssembler::Show show_line = [&](std::string_view line) {
    if (options_.style == PrefixStyle::none) {
      lines_ += line;
    } else if (output.stream == Stream::out ||
               !warnings_.keep(output.rank, line, EventLoop::Clock::now())) {
      stream.prefix.add_to(lines_, now);
      lines_ += line;
      lines_ += '\n';
    }
  };
  if (output.data.empty()) {
    stream.lines.finish(show_line);
  } else {
    stream.lines.feed(output.data, now, show_line);
  }
  if (is_live(output.rank)) {
    set_live_line();
  }
  output.stream == Stream::out ? print(out_, lines_) : print_errors(lines_);
  show_due_warnings();
}

// Shows the line that rank 0 redraws on stderr, else the one on stdout.
void OutputHub::set_live_line() {
  for (const Stream stream : {Stream::err, Stream::out}) {
    const RankStream& of_rank = stream_of(0, stream);
    if (const std::string_view text = of_rank.lines.live_text(); !text.empty()) {
      std::string prefix;
      of_rank.prefix.add_to(prefix, std::chrono::system_clock::now());
      live_->set(prefix, text);
      return;
    }
  }
  live_->set("", "");
}

void OutputHub::print(Sink& sink, std::string_view lines) {
  if (lines.empty()) {
    return;
  }
  if (live_) {
    live_->erase();
  }
  sink.write(lines);
  if (live_) {
    live_->redraw();
  }
}

// What is lost of bprun's own lines does not count as lost output.
void OutputHub::print_errors(std::string_view lines) {
  const std::uint64_t before = err_.lost();
  print(err_, lines);
  errors_lost_ += err_.lost() - before;
}

void OutputHub::show_due_warnings() {
  while (const auto warning = warnings_.next_due(EventLoop::Clock::now())) {
    show_warning(*warning);
  }
  loop_.cancel(warnings_timer_);
  if (const auto next = warnings_.next_time()) {
    warnings_timer_ = loop_.after(*next - EventLoop::Clock::now(), [this] { show_due_warnings(); });
  }
}

void OutputHub::show_warning(const SameWarnings::Warning& warning) {
  std::string line;
  stream_of(warning.first, Stream::err).prefix.add_to(line, std::chrono::system_clock::now());
  print_errors(concat(line, text_of(warning), "\n"));
}

void OutputHub::show_all() {
  while (const auto warning = warnings_.next_due(EventLoop::Clock::time_point::max())) {
    show_warning(*warning);
  }
  if (live_) {
    live_->set("", "");
  }
}

void OutputHub::look_for_loss_of(const Sink& sink, std::uint64_t lost, bool& reported) {
  if (lost > 0 && !std::exchange(reported, true)) {
    print_always(concat("bprun: warning: ", in_words(sink), " cannot be written: ",
                        error_text(sink.error()), "; the job continues, and this output is lost"));
  }
}

// Warns once about each stream and once about the files. The warning about stderr arrives only if
// there is room again.
void OutputHub::look_for_loss() {
  look_for_loss_of(out_, out_.lost(), out_loss_reported_);
  look_for_loss_of(err_, errors_lost_, err_loss_reported_);
  const RankFiles::Loss& loss = files_.loss();
  if (loss.bytes > 0 && !std::exchange(file_loss_reported_, true)) {
    print_always(concat("bprun: warning: ", loss.path,
                        " cannot be written: ", error_text(loss.error),
                        "; the job continues, and the files of --output are incomplete"));
  }
}

void OutputHub::say_loss_of(const Sink& sink, std::uint64_t lost) {
  if (lost > 0) {
    print_always(concat("bprun: ", lost, " bytes of output are lost: ", in_words(sink), ": ",
                        error_text(sink.error())));
  }
}

void OutputHub::say_losses() {
  say_loss_of(out_, out_.lost());
  say_loss_of(err_, errors_lost_);
  if (const RankFiles::Loss& loss = files_.loss(); loss.bytes > 0) {
    print_always(concat("bprun: ", loss.bytes, " bytes are missing in the files of --output: ",
                        loss.path, ": ", error_text(loss.error)));
  }
}

void OutputHub::look_for_cut(const Output& output, const RankStream& stream) {
  if (!stream.lines.has_cut() || std::exchange(cut_reported_, true)) {
    return;
  }
  const std::string file = files_.path_of(output.rank, output.stream);
  say(concat("bprun: warning: rank ", output.rank, " wrote a line of over 1 MiB to ",
             output.stream == Stream::out ? "stdout" : "stderr",
             "; bprun shows such lines in pieces (", file.empty() ? "--prefix none shows" : file,
             file.empty() ? " them whole)" : " has it whole)"));
}

void OutputHub::acknowledge() {
  look_for_loss();
  if (out_.pending() + err_.pending() <= kMaxPending) {
    for (const UnacknowledgedOutput& output : std::exchange(unacknowledged_, {})) {
      taken_(output.rank, output.bytes);
    }
  }
}

void OutputHub::say(std::string_view text) {
  if (!options_.quiet) {
    print_always(text);
  }
}

void OutputHub::print_always(std::string_view text) {
  const bool yellow = err_colours_ && text.find("warning:") != std::string_view::npos;
  const std::string_view begin = err_.at_line_start() || live_ ? "" : "\n";
  print(err_, concat(begin, yellow ? kYellow : "", printable(text), yellow ? kNoColour : "", "\n"));
}

void OutputHub::say_report(std::string_view report) {
  show_all();
  const std::string safe = printable(report);
  const std::string_view text = safe;
  const std::size_t first = text.find('\n');
  print(err_, concat(err_.at_line_start() || live_ ? "" : "\n", err_colours_ ? kRed : "",
                     text.substr(0, first), err_colours_ ? kNoColour : "",
                     first == std::string_view::npos ? "" : text.substr(first), "\n"));
}

void OutputHub::leave_terminal() {
  if (live_) {
    live_->erase();
  }
}

int OutputHub::live_columns() const { return live_ ? live_->columns() : 0; }

std::vector<std::string> OutputHub::last_errors(int rank, std::size_t lines) const {
  std::vector<std::string> last;
  const LineAssembler::Show keep = [&](std::string_view line) {
    last.emplace_back(line);
    if (last.size() > lines) {
      last.erase(last.begin());
    }
  };
  LineAssembler assembler(LineMode::live);
  assembler.feed(streams_.at(static_cast<std::size_t>(rank) * 2 + 1).tail, {}, keep);
  assembler.finish(keep);
  return quoted_lines(std::move(last));
}

}  // namespace bp::launcher
