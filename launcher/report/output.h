// Everything that the ranks print: to the launcher's own streams in whole lines, and to files.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/process/event_loop.h"
#include "launcher/protocol/messages.h"
#include "launcher/report/line_assembler.h"
#include "launcher/report/line_prefix.h"
#include "launcher/report/live_line.h"
#include "launcher/report/rank_files.h"
#include "launcher/report/same_warnings.h"
#include "launcher/report/sink.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {

struct OutputOptions {
  int world_size = 1;
  PrefixStyle style = PrefixStyle::rank;
  std::string folder;           // empty: no files; of this job alone
  std::vector<int> shown = {};  // the ranks whose lines are shown, ascending; empty: all
  bool quiet = false;           // of the launcher's own lines only the report
  ColourChoice colours = ColourChoice::automatic;
};

class OutputHub {
 public:
  // `taken(rank, bytes)` is called as what was added has left this process, or nearly. Throws io,
  // naming the path, when a file cannot be made.
  OutputHub(EventLoop& loop,
            const OutputOptions& options,
            std::function<void(int, std::uint32_t)> taken);
  ~OutputHub() { loop_.cancel(warnings_timer_); }
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  void add(const Output& output);

  // A line of the launcher's own, on stderr; what would steer a terminal is escaped.
  void say(std::string_view text);
  // The last words: why the job failed, after everything that is still kept back.
  void say_report(std::string_view text);
  void show_all();        // that is kept back
  void leave_terminal();  // to others, before the launcher is suspended

  // The last lines that the rank wrote to stderr, at most `lines`.
  [[nodiscard]] std::vector<std::string> last_errors(int rank, std::size_t lines) const;
  // Where all of its stderr is; empty without files.
  [[nodiscard]] std::string error_file(int rank) const { return files_.path_of(rank, Stream::err); }
  // How wide a line is that rank 0 may redraw on the terminal; 0: there is no terminal.
  [[nodiscard]] int live_columns() const;
  [[nodiscard]] bool all_written() const { return out_.pending() == 0 && err_.pending() == 0; }
  [[nodiscard]] bool nobody_reads() const { return out_.broken(); }
  // Whether some output could not be written, though a reader or a file was there.
  [[nodiscard]] bool has_lost() const { return out_.lost() + files_.loss().bytes > 0; }
  // Says how much it was, if any.
  void say_losses();

 private:
  struct RankStream {
    LineAssembler lines;
    LinePrefix prefix;
    std::string tail;  // the end of what was written, of stderr only
    bool shown = true;
  };
  struct UnacknowledgedOutput {
    int rank = 0;
    std::uint32_t bytes = 0;
  };
  [[nodiscard]] RankStream make_stream(int rank, Stream stream) const;
  [[nodiscard]] bool is_shown(int rank) const;
  [[nodiscard]] bool is_live(int rank) const { return live_ != nullptr && rank == 0; }
  RankStream& stream_of(int rank, Stream stream);
  void show(const Output& output, RankStream& stream);
  void look_for_loss();
  void look_for_cut(const Output& output, const RankStream& stream);
  void say_aloud(std::string_view text);  // even where the launcher is quiet
  void set_live_line();
  void print(Sink& sink, std::string_view lines);
  void show_due_warnings();
  void show_warning(const SameWarnings::Warning& warning);
  void acknowledge();

  EventLoop& loop_;
  OutputOptions options_;
  std::function<void(int, std::uint32_t)> taken_;
  RankFiles files_;
  Sink out_;
  Sink err_;
  bool err_colours_;
  std::unique_ptr<LiveLine> live_;  // none where stderr is no terminal
  SameWarnings warnings_;
  EventLoop::TimerId warnings_timer_ = 0;
  std::vector<RankStream> streams_;  // two a rank
  std::vector<UnacknowledgedOutput> unacknowledged_;
  std::string lines_;  // of show(): megabytes a second must not be given back and asked for again
  bool loss_told_ = false;
  bool file_loss_told_ = false;
  bool cut_told_ = false;
};

}  // namespace bp::launcher
