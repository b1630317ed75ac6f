#include "trainer/prepare/lease.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/hex.h"
#include "base/keys/hmac.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/common/look_up.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

// Starts the last part of the name of a lease file that is being removed.
constexpr std::string_view kAside = "old-";

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

// Identifies the boot and the process namespace. Within one of these, a process number that does
// not exist belongs to a process that has ended.
std::string this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::array<char, 64> space{};
  if (boot.empty() || ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) {
    return "?";
  }
  return concat(boot, "/", space.data());
}

// Returns when the process started, in clock ticks since the boot: the 22nd field of its status,
// which is the 20th after the name in parentheses. Returns "" if that is not known.
std::string start_of(int process) {
  std::ifstream file(concat("/proc/", process, "/stat"));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return "";
  }
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  constexpr int kStart = 20;
  for (int i = 0; i < kStart; ++i) {
    fields >> field;
  }
  return field;
}

// Returns false if `how` has O_EXCL and the file exists.
bool write_file(const std::string& path, const std::string& text, int how) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644));
  if (!fd && errno == EEXIST) {
    return false;
  }
  if (!fd || write_all(fd.get(), text.data(), text.size()) < text.size()) {
    const int reason = errno;
    if (fd) {
      ::unlink(path.c_str());
    }
    throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(reason)));
  }
  return true;
}

}  // namespace

Lease::Lease(std::string path, const LeaseTimes& times)
    : path_(std::move(path)), times_(times), watched_until_(times.expiry) {
  mine_.token = to_hex(random_bytes()).substr(0, 16);
  mine_.machine = this_machine();
  mine_.process = ::getpid();
  mine_.host = host_name();
  mine_.started = start_of(mine_.process);
}

Lease::~Lease() {
  if (!renewer_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  renewer_.join();
  Content found;
  if (read(path_, found) && found.token == mine_.token) {
    ::unlink(path_.c_str());
  }
}

bool Lease::try_take() {
  if (write_file(path_, text_of(mine_), O_EXCL)) {
    remove_torn_renewals();
    renewer_ = std::thread([this] { renew_until_stopped(); });
    return true;
  }
  Content found;
  if (!read(path_, found)) {
    return false;  // it was released just now: the next try will succeed
  }
  const bool expired = seen_expired(found);
  const bool dead = seen_dead(found);
  holder_is_alive_ = holder_is_alive_ || (on_this_machine(found) && !dead);
  if (expired || dead) {
    holder_is_alive_ = false;
    remove_expired(found);
  }
  return false;
}

bool Lease::seems_held() const {
  Content found;
  if (!read(path_, found)) return false;
  if (on_this_machine(found)) return !seen_dead(found);
  std::error_code error;
  const fs::file_time_type renewed = fs::last_write_time(path_, error);
  return !error && fs::file_time_type::clock::now() - renewed < times_.expiry;
}

std::string Lease::holder() const {
  const std::string text = concat("process ", watched_.process, " on host ", watched_.host);
  return watched_.progress.empty() ? text : concat(text, ": ", watched_.progress);
}

void Lease::say(const std::string& progress) {
  const std::lock_guard lock(mutex_);
  mine_.progress = progress;
}

bool Lease::lost() const {
  Content found;
  return read(path_, found) && found.token != mine_.token;
}

// A file whose creator has not filled it yet reads as one without a token.
bool Lease::read(const std::string& path, Content& content) {
  std::ifstream file(path);
  std::string process;
  std::string renewals;
  if (!file) {
    return false;
  }
  for (std::string* const line : {&content.token, &content.machine, &process, &renewals,
                                  &content.host, &content.progress, &content.started}) {
    std::getline(file, *line);
  }
  content.process = std::atoi(process.c_str());
  content.renewals = std::atoll(renewals.c_str());
  return true;
}

std::string Lease::text_of(const Content& content) {
  return concat(content.token, "\n", content.machine, "\n", content.process, "\n", content.renewals,
                "\n", content.host, "\n", content.progress, "\n", content.started, "\n");
}

// Removes the temporary files of holders that were killed between writing a renewal and renaming
// it.
void Lease::remove_torn_renewals() const {
  const std::string aside = concat(fs::path(path_).filename().string(), ".", kAside);
  std::error_code ignored;
  for (const std::string& file : files_that_begin(path_ + ".")) {
    if (!fs::path(file).filename().string().starts_with(aside)) fs::remove(file, ignored);
  }
}

void Lease::renew_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, times_.renewal, [this] { return stop_; })) {
    ++mine_.renewals;
    const std::string text = text_of(mine_);
    lock.unlock();
    renew(text);
    lock.lock();
  }
}

// If writing keeps failing, another process takes over.
void Lease::renew(const std::string& text) const {
  if (lost()) {
    return;
  }
  const std::string next = concat(path_, ".", mine_.token);
  try {
    write_file(next, text, O_TRUNC);
    if (std::rename(next.c_str(), path_.c_str()) != 0) {
      throw Error(ErrorCode::io, concat("cannot write ", path_, ": ", error_text(errno)));
    }
  } catch (const Error& error) {
    ::unlink(next.c_str());
    log(LogLevel::warn, error.what());
  }
}

bool Lease::seen_expired(const Content& content) {
  if (content != watched_) {
    holder_is_alive_ = !content.token.empty() && content.token == watched_.token;
    watched_ = content;
    watched_until_ = Deadline(times_.expiry);
  }
  return watched_until_.passed();
}

bool Lease::on_this_machine(const Content& content) const {
  return content.machine == mine_.machine && content.machine != "?";
}

bool Lease::seen_dead(const Content& content) const {
  if (!on_this_machine(content) || content.process == mine_.process) {
    return false;
  }
  if (::kill(content.process, 0) != 0 && errno == ESRCH) {
    return true;
  }
  const std::string started = start_of(content.process);
  return !content.started.empty() && !started.empty() && started != content.started;
}

// Moves the file away first, so that of several processes that try only one succeeds. If the file
// is by then a new lease of another process, it is put back.
void Lease::remove_expired(const Content& content) {
  const std::string aside = concat(path_, ".", kAside, mine_.token);
  if (std::rename(path_.c_str(), aside.c_str()) != 0) {
    return;
  }
  Content moved;
  if (read(aside, moved) && moved != content) {
    (void)::link(aside.c_str(), path_.c_str());
  }
  ::unlink(aside.c_str());
}

}  // namespace bp::trainer
