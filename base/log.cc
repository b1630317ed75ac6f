// The only file that includes spdlog. LibTorch's include folder has another fmt, and a file that
// includes both does not compile.
#include "bp/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/log_writer.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

// Writes each line with one write(2), unless the program has another writer. A short or failed
// write is not retried, because a log must not block its program.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void set_writer(std::function<void(std::string_view)> writer) {
    const std::lock_guard lock(mutex_);
    writer_ = std::move(writer);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (writer_) {
      writer_({line.data(), line.size()});
      return;
    }
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  }
  void flush_() override {}

 private:
  std::function<void(std::string_view)> writer_;  // base_sink's mutex_ guards it
};

std::string_view variable() {
  const char* const text = std::getenv("BP_LOG");
  return text == nullptr ? std::string_view() : text;
}

// spdlog::level::from_str() takes any other text for "off".
std::optional<spdlog::level::level_enum> level_named(std::string_view text) {
  if (text == "error") return spdlog::level::err;
  if (text == "warn" || text.empty()) return spdlog::level::warn;
  if (text == "info") return spdlog::level::info;
  if (text == "debug") return spdlog::level::debug;
  return std::nullopt;
}

struct Logger {
  std::mutex mutex;  // guards sink and context
  std::shared_ptr<std::function<void(LogLevel, std::string_view)>> sink;
  std::string context;
  std::shared_ptr<StderrSink> on_stderr = std::make_shared<StderrSink>();
  spdlog::logger spd{"bp", on_stderr};

  Logger() {
    spd.set_pattern("%H:%M:%S.%e %L %v");
    spd.set_level(level_from_environment());
  }

  static spdlog::level::level_enum level_from_environment() {
    return level_named(variable()).value_or(spdlog::level::warn);
  }
};

// Process-wide state, as all of a process logs to the same place.
Logger& logger() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const kLogger = new Logger;  // never destroyed: threads may log until the very end
  return *kLogger;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  static constexpr std::array kLevels = {spdlog::level::err, spdlog::level::warn,
                                         spdlog::level::info, spdlog::level::debug};
  return kLevels[static_cast<std::size_t>(level)];
}

}  // namespace

void check_log_variable() {
  if (level_named(variable())) return;
  throw Error(ErrorCode::invalid_argument,
              concat("BP_LOG is '", variable(), "'; use error, warn, info or debug"));
}

bool log_enabled(LogLevel level) { return logger().spd.should_log(to_spdlog(level)); }

void log(LogLevel level, std::string_view text) {
  Logger& self = logger();
  if (!self.spd.should_log(to_spdlog(level))) {
    return;
  }
  std::string line;
  std::shared_ptr<std::function<void(LogLevel, std::string_view)>> sink;
  {
    const std::lock_guard lock(self.mutex);
    sink = self.sink;
    line = self.context.empty() ? "" : self.context + "] ";
  }
  line += text;
  if (sink) {
    (*sink)(level, line);
  } else {
    self.spd.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }
}

void set_log_sink(std::function<void(LogLevel, std::string_view)> sink) {
  auto shared =
      sink ? std::make_shared<std::function<void(LogLevel, std::string_view)>>(std::move(sink))
           : nullptr;
  const std::lock_guard lock(logger().mutex);
  logger().sink = std::move(shared);
}

void set_log_writer(std::function<void(std::string_view)> writer) {
  logger().on_stderr->set_writer(std::move(writer));
}

void set_log_context(std::string_view context) {
  const std::lock_guard lock(logger().mutex);
  logger().context = context;
}

}  // namespace bp
