// Everything that the ranks print: to the launcher's own streams in whole lines, and to files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/fd.h"
#include "launcher/agent/messages.h"
#include "launcher/process/event_loop.h"
#include "launcher/report/line_assembler.h"
#include "launcher/report/sink.h"

namespace bp::launcher {

struct OutputOptions {
  int world_size = 1;
  PrefixStyle style = PrefixStyle::rank;
  std::string folder;  // empty: no files
  bool go_on = false;  // writes files after what they hold, instead of emptying them
};

class OutputHub {
 public:
  // `taken(rank, bytes)` is called as what was added has left this process, or nearly. Throws io,
  // naming the path, when a file cannot be made.
  OutputHub(EventLoop& loop,
            const OutputOptions& options,
            std::function<void(int, std::uint32_t)> taken);

  void add(const Output& output);

  // A line of the launcher's own, on stderr.
  void say(std::string_view text);

  // The last lines that the rank wrote to stderr, at most `lines`.
  [[nodiscard]] std::vector<std::string> last_errors(int rank, std::size_t lines) const;
  // Where all of its stderr is; empty without files.
  [[nodiscard]] std::string error_file(int rank) const;
  [[nodiscard]] bool all_written() const { return out_.pending() == 0 && err_.pending() == 0; }
  [[nodiscard]] bool nobody_reads() const { return out_.broken(); }

 private:
  struct RankStream {
    LineAssembler lines;
    Fd file;
  };
  struct Debt {
    int rank = 0;
    std::uint32_t bytes = 0;
  };
  RankStream& stream_of(const Output& output);
  void write_file(const Output& output);
  void settle();

  OutputOptions options_;
  std::function<void(int, std::uint32_t)> taken_;
  Sink out_;
  Sink err_;
  std::vector<RankStream> streams_;  // two a rank
  std::vector<std::string> tails_;
  std::vector<Debt> debts_;
  bool file_trouble_told_ = false;
};

}  // namespace bp::launcher
