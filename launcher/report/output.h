// Receives everything that the ranks print, and writes it to the launcher's own streams in whole
// lines and to files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/process/event_loop.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/report/line_assembler.h"
#include "launcher/report/line_prefix.h"
#include "launcher/report/rank_files.h"
#include "launcher/report/same_warnings.h"
#include "launcher/report/sink.h"
#include "launcher/report/terminal.h"

namespace bp::launcher {

struct OutputOptions {
  int world_size = 1;
  PrefixStyle style = PrefixStyle::rank;
  std::string folder;           // this job's own folder; empty: no files
  std::uint64_t limit = 0;      // bytes of a file there, see RankFiles; 0: none
  std::vector<int> shown = {};  // the ranks whose lines are shown, ascending; empty: all
  bool quiet = false;           // prints only the report of the launcher's own lines
  ColourChoice colours = ColourChoice::automatic;
  bool stderr_counts = true;  // has_lost() also is about the ranks' stderr
};

class LiveLine;

class OutputHub {
 public:
  // Calls `taken(rank, bytes)` when added output is written or little of it is pending. Throws io,
  // naming the path, if a file cannot be created.
  OutputHub(EventLoop& loop,
            const OutputOptions& options,
            std::function<void(int, std::uint32_t)> taken);
  ~OutputHub();
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  void add(const Output& output);

  // Prints a line of the launcher's own on stderr. Escapes what could control a terminal.
  void say(std::string_view text);
  // Prints why the job failed, after everything that was held back.
  void say_report(std::string_view report);
  void show_all();        // prints everything that was held back
  void leave_terminal();  // call it before the launcher is suspended: it erases the live line

  // Returns the last lines that the rank wrote to stderr, at most `lines`.
  [[nodiscard]] std::vector<std::string> last_errors(int rank, std::size_t lines) const;
  // Returns the path of the file with all of the rank's stderr; empty without files.
  [[nodiscard]] std::string error_file(int rank) const { return files_.path_of(rank, Stream::err); }
  // Returns the width of the line that rank 0 may redraw on the terminal; 0 without a terminal.
  [[nodiscard]] int live_columns() const;
  [[nodiscard]] bool all_written() const { return out_.pending() == 0 && err_.pending() == 0; }
  // Returns whether no process reads stdout, or stderr, any more.
  [[nodiscard]] bool has_no_reader() const { return out_.broken() || err_.broken(); }
  // Returns whether some output of the ranks could not be written although a reader or a file
  // exists.
  [[nodiscard]] bool has_lost() const {
    return out_.lost() + (options_.stderr_counts ? errors_lost_ : 0) + files_.loss().bytes > 0;
  }
  // Prints the number of bytes lost, if any.
  void say_losses();

 private:
  struct RankStream {
    LineAssembler lines;
    LinePrefix prefix;
    std::string tail;  // the end of the output; only for stderr
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
  void look_for_loss_of(const Sink& sink, std::uint64_t lost, bool& reported);
  void say_loss_of(const Sink& sink, std::uint64_t lost);
  void look_for_cut(const Output& output, const RankStream& stream);
  void print_always(std::string_view text);  // prints also if the launcher is quiet
  void set_live_line();
  void print(Sink& sink, std::string_view lines);
  void print_errors(std::string_view lines);  // of ranks
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
  std::unique_ptr<LiveLine> live_;  // null if stderr is not a terminal
  SameWarnings warnings_;
  EventLoop::TimerId warnings_timer_ = 0;
  std::vector<RankStream> streams_;  // two per rank
  std::vector<UnacknowledgedOutput> unacknowledged_;
  // Used by show(); a member, so that its memory is not allocated again for every piece of output.
  std::string lines_;
  std::uint64_t errors_lost_ = 0;  // bytes of the ranks' stderr
  bool out_loss_reported_ = false;
  bool err_loss_reported_ = false;
  bool file_loss_reported_ = false;
  bool cut_reported_ = false;
};

}  // namespace bp::launcher
