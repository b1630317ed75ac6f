#include "comm/engine/observe/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/system/output_place.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "bp/log.h"

namespace bp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWriteAt = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kWriteEvery{500};
constexpr std::string_view kBegin = "[\n";
constexpr std::string_view kEnd = "\n]\n";  // overwritten by the next events

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", byte);
      result += code.data();
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result += '"';
}

// Microseconds, to the nanosecond.
std::string micros(std::chrono::nanoseconds time) {
  std::array<char, 48> text{};
  char* const end =
      std::to_chars(text.begin(), text.end(), static_cast<double>(time.count()) / 1000,
                    std::chars_format::fixed, 3)
          .ptr;
  return {text.data(), end};
}

std::string path_of(const std::string& folder, int rank) {
  return concat(folder, "/rank-", rank, ".json");
}

Fd create(const std::string& folder, const std::string& path) {
  const OutputFolder made(folder);
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) {
    throw Error(ErrorCode::io, concat("cannot create the trace ", path, ": ", made.why_not()));
  }
  return file;
}

}  // namespace

TraceFile::TraceFile(const std::string& folder, const Topology& topology)
    : path_(path_of(folder, topology.rank)),
      rank_(topology.rank),
      file_(create(folder, path_)),
      written_at_(std::chrono::steady_clock::now()) {
  std::error_code ignored;
  for (int gone = topology.size(); rank_ == 0; ++gone) {
    if (!std::filesystem::remove(path_of(folder, gone), ignored)) break;
  }
  const int host = topology.place_of(rank_).host;
  const std::string name = concat("rank ", rank_, " on ", topology.host_name(host));
  unwritten_ = concat(kBegin, R"({"ph":"M","name":"process_name","pid":)", rank_,
                      R"(,"args":{"name":)", json_text(name), "}}");
  const std::lock_guard lock(mutex_);
  write();
}

TraceFile::~TraceFile() {
  const std::lock_guard lock(mutex_);
  write();
}

void TraceFile::start(std::chrono::nanoseconds offset) {
  const std::lock_guard lock(mutex_);
  offset_ = offset;
}

void TraceFile::add(const Span& span) {
  const std::lock_guard lock(mutex_);
  if (!offset_ || !file_) return;
  append({.phase = "X", .extra = concat(R"(,"dur":)", micros(span.end - span.begin))}, span,
         span.begin);
  write_if_due();
}

void TraceFile::add_overlapping(const Span& span) {
  const std::lock_guard lock(mutex_);
  if (!offset_ || !file_) return;
  const std::string id = concat(R"(,"cat":)", json_text(span.row), R"(,"id":)", ++overlapping_);
  append({.phase = "b", .extra = id}, span, span.begin);
  append({.phase = "e", .extra = id}, span, span.end);
  write_if_due();
}

void TraceFile::append(const Event& event, const Span& span, Time at) {
  const int row = row_number(span.row);
  unwritten_ +=
      concat(",\n", R"({"ph":")", event.phase, R"(","name":)", json_text(span.name), R"(,"pid":)",
             rank_, R"(,"tid":)", row, R"(,"ts":)", micros(at.time_since_epoch() + *offset_),
             event.extra, R"(,"args":{)", span.arguments, "}}");
}

int TraceFile::row_number(std::string_view row) {
  const auto known = rows_.find(row);
  if (known != rows_.end()) return known->second;
  const int number = static_cast<int>(rows_.size()) + 1;
  rows_.emplace(row, number);
  unwritten_ += concat(",\n", R"({"ph":"M","name":"thread_name","pid":)", rank_, R"(,"tid":)",
                       number, R"(,"args":{"name":)", json_text(row), "}}");
  return number;
}

void TraceFile::write_if_due() {
  if (unwritten_.size() >= kWriteAt ||
      std::chrono::steady_clock::now() - written_at_ >= kWriteEvery) {
    write();
  }
}

// Writes the events and the end of the file in one piece, so that the file is complete at any time.
// If the disk is full, the trace keeps its last complete end.
void TraceFile::write() {
  if (!file_ || unwritten_.empty()) return;
  written_at_ = std::chrono::steady_clock::now();
  const std::string text = concat(unwritten_, kEnd);
  const ssize_t written = ::pwrite(file_.get(), text.data(), text.size(), end_);
  if (written == static_cast<ssize_t>(text.size())) {
    end_ += static_cast<std::int64_t>(unwritten_.size());
  } else {
    log(LogLevel::warn, concat("the trace ", path_, " ends here: ",
                               written < 0 ? error_text(errno) : "the disk is full"));
    (void)::pwrite(file_.get(), kEnd.data(), kEnd.size(), end_);
    (void)::ftruncate(file_.get(), end_ + static_cast<std::int64_t>(kEnd.size()));
    file_.reset();
  }
  unwritten_.clear();
}

std::chrono::nanoseconds measure_clock_offset(Communicator& world) {
  constexpr std::size_t kRounds = 15;
  if (world.topology().hosts() == 1) return 0ns;
  std::vector<std::int64_t> own;
  for (std::size_t round = 0; round < kRounds; ++round) {
    barrier(world, {.name = "trace clock"});
    own.push_back(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  std::vector<std::int64_t> all(kRounds * static_cast<std::size_t>(world.size()));
  all_gather(world, const_view(own), view(all), {.name = "trace clock"});
  if (world.topology().place_of(world.rank()).host == 0) return 0ns;
  std::vector<std::int64_t> ahead;
  for (std::size_t round = 0; round < kRounds; ++round) ahead.push_back(all[round] - own[round]);
  std::ranges::nth_element(ahead, ahead.begin() + kRounds / 2);
  return std::chrono::nanoseconds(ahead[kRounds / 2]);
}

}  // namespace bp
