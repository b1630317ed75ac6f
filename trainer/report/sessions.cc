#include "trainer/report/sessions.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/json_fields.h"

namespace bp::trainer {
namespace {

constexpr int kSessionFileMode = 0644;

void append_line(const std::string& path, const Json& json, bool from_start) {
  const int mode = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (from_start ? O_TRUNC : 0);
  const Fd file(::open(path.c_str(), mode, kSessionFileMode));
  if (!file) throw Error(ErrorCode::io, concat("cannot open ", path, ": ", error_text(errno)));
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  if (write_all(file.get(), line.data(), line.size()) != line.size()) {
    fail_to_write(path, errno, line.size());
  }
}

// A kill may have left one at the end.
void remove_unfinished_line(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  std::uintmax_t length = 0;
  while (std::getline(in, line) && !in.eof()) length += line.size() + 1;
  std::error_code ignored;  // without the file there is no such line
  std::filesystem::resize_file(path, length, ignored);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// LibTorch's errors have a backtrace behind their first line. Files of older versions hold it.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void start_fields(auto& json, Of<Session> auto& it) {
  json("step", it.from_step);
  json("time", it.begun);
  json("version", it.version);
  json("machine", it.machine);
  json("main_score", it.main_score.key);
  json("higher_is_better", it.main_score.higher_is_better);
  json("hosts", it.hosts);
}

void end_fields(auto& json, Of<Session> auto& it) {
  json("step", it.end_step);
  json("time", it.ended);
  json("outcome", it.outcome);
  json("why", it.why);
}

}  // namespace

void fields(auto& json, Of<RunHost> auto& it) {
  json("name", it.name);
  json("ranks", it.ranks);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string machine_text(const std::string& gpu) {
  const unsigned cores = std::thread::hardware_concurrency();
  utsname system{};
  const std::string kernel =
      ::uname(&system) == 0 ? concat(system.sysname, ' ', system.release) : "unknown system";
  return concat(cores, cores == 1 ? " core, " : " cores, ", processor_name(), ", ", kernel,
                gpu.empty() ? "" : ", ", gpu);
}

SessionWriter::SessionWriter(std::string path, const Session& session, bool resumed)
    : path_(std::move(path)) {
  if (resumed) remove_unfinished_line(path_);
  JsonWriter json;
  json("event", std::string("start"));
  start_fields(json, session);
  append_line(path_, json.take(), !resumed);
}

void SessionWriter::end(std::int64_t step,
                        const std::string& outcome,
                        const std::string& why) noexcept {
  if (std::exchange(ended_, true)) return;
  try {
    const Session session{
        .ended = utc_now(), .outcome = outcome, .why = first_line(why), .end_step = step};
    JsonWriter json;
    json("event", std::string("end"));
    end_fields(json, session);
    append_line(path_, json.take(), false);
  } catch (const std::exception&) {  // a reader then takes the session for one that was killed
  }
}

std::vector<Session> read_sessions(const std::string& path) {
  std::vector<Session> sessions;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  for (int number_of_line = 1; std::getline(in, text) && !in.eof(); ++number_of_line) {
    try {
      const Json line = parse_own(text);
      JsonReader reader(line);
      if (line.at("event") == "start") {
        Session& session = sessions.emplace_back();
        start_fields(reader, session);
        session.end_step = session.from_step;
      } else if (!sessions.empty()) {
        end_fields(reader, sessions.back());
        sessions.back().why = first_line(sessions.back().why);
      }
    } catch (const std::exception& error) {
      throw Error(ErrorCode::invalid_argument,
                  concat(path, ", line ", number_of_line,
                         " is not a line about a session: ", error.what()));
    }
  }
  return sessions;
}

}  // namespace bp::trainer
