#include "comm/engine/record_file.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/text.h"
#include "bp/log.h"

namespace bp {
namespace {

namespace chrono = std::chrono;

std::string_view name_of(RecordedOperation::State state) {
  switch (state) {
    case RecordedOperation::State::under_way:
      return "under way";
    case RecordedOperation::State::done:
      return "done";
    case RecordedOperation::State::failed:
      return "failed";
  }
  return "?";
}

// "2026-11-22 00:10:11.123456", in UTC: ranks of several hosts are compared.
std::string time_text(chrono::system_clock::time_point time) {
  const std::time_t whole = chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%F %T", &parts);
  const auto micros =
      chrono::duration_cast<chrono::microseconds>(time - chrono::floor<chrono::seconds>(time))
          .count();
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06d", static_cast<int>(micros));
  return concat(text.data(), fraction.data());
}

double micros_of(chrono::nanoseconds time) {
  return chrono::duration<double, std::micro>(time).count();
}

}  // namespace

std::string format_record(const RecordOwner& owner, std::span<const RecordedOperation> operations) {
  std::string text = concat("# rank ", owner.world_rank, ", communicator ", owner.group, ": ",
                            owner.failure, "\n# its last ", operations.size(),
                            " operations, oldest first; times in UTC\n"
                            "# number\tbegun\tstate\ttook_us\twaited_us\tbytes\talgorithm\t"
                            "operation\n");
  for (const RecordedOperation& one : operations) {
    text += concat(one.sequence, "\t", time_text(one.begun), "\t", name_of(one.state), "\t",
                   micros_of(one.took), "\t", micros_of(one.waited), "\t", one.bytes, "\t",
                   one.algorithm.empty() ? "-" : one.algorithm, "\t", one.text, "\n");
  }
  return text;
}

void write_record(const std::string& folder,
                  const RecordOwner& owner,
                  std::span<const RecordedOperation> operations) {
  namespace fs = std::filesystem;
  const std::string own = concat(folder, "/rank.", owner.world_rank);
  const std::string path = concat(own, "/collectives.", owner.group, ".txt");
  std::error_code ignored;  // opening the file reports it
  fs::create_directories(own, ignored);
  std::ofstream file(path, std::ios::binary);
  file << format_record(owner, operations) << std::flush;
  if (!file) log(LogLevel::warn, concat("cannot write ", path, ": ", error_text(errno)));
}

}  // namespace bp
