#include "tests/support/strangers.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "comm/store/seal.h"
#include "comm/store/store_wire.h"
#include "launcher/process/process_tree.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;

constexpr int kBatch = 50;  // connections to one port before the next port gets its share
constexpr auto kLook = 300us;
constexpr auto kSlowByte = 50ms;

template <class Address>
std::string bytes_of(const Address& address, std::size_t size = sizeof(Address)) {
  return {reinterpret_cast<const char*>(&address), size};
}

// Parses "0100007F:A455" of /proc/net/tcp, where each word of an address is a number in this
// machine's byte order.
std::string tcp_address(const std::string& text, bool v6) {
  const std::size_t colon = text.find(':');
  const auto port = static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1), nullptr, 16));
  std::string words;
  for (std::size_t at = 0; at < colon; at += 8) {
    const auto word = static_cast<std::uint32_t>(std::stoul(text.substr(at, 8), nullptr, 16));
    words += bytes_of(word);
  }
  const bool any = words.find_first_not_of('\0') == words.npos;
  if (!v6 || any) {  // an IPv6 socket bound to :: also serves IPv4
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!any) std::memcpy(&address.sin_addr, words.data(), sizeof address.sin_addr);
    return bytes_of(address);
  }
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, words.data(), sizeof address.sin6_addr);
  return bytes_of(address);
}

// Follows the lists of children, which is much faster than examining every process of the machine.
// A port may be open for only a few milliseconds.
std::vector<std::string> descendants_of(const std::string& root) {
  std::vector<std::string> all;
  std::error_code error;
  std::filesystem::directory_iterator task(concat("/proc/", root, "/task"), error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    std::ifstream children(task->path() / "children");
    for (std::string child; children >> child;) {
      all.push_back(child);
      std::ranges::copy(descendants_of(child), std::back_inserter(all));
    }
  }
  return all;
}

}  // namespace

Strangers::Strangers(Mode mode, int connections_a_port)
    : mode_(mode), connections_a_port_(connections_a_port) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  launcher::adopt_orphans();
  thread_ = std::thread([this] { run(); });
}

Strangers::~Strangers() {
  stop_ = true;
  thread_.join();
}

void Strangers::run() {
  ::setpriority(PRIO_PROCESS, 0, -20);  // raises this thread's priority, if permitted
  auto last_word = std::chrono::steady_clock::now();
  while (!stop_) {
    look_for_ports();
    for (Target& target : targets_) connect_some(target);
    std::erase_if(targets_, [](const Target& target) { return target.left <= 0; });
    const auto now = std::chrono::steady_clock::now();
    if (now - last_word > kSlowByte) {
      last_word = now;
      for (Stranger& stranger : strangers_) talk(stranger);
    }
    if (targets_.empty()) std::this_thread::sleep_for(kLook);
  }
}

void Strangers::look_for_ports() {
  look_at_table("/proc/net/tcp", false);
  look_at_table("/proc/net/tcp6", true);
  look_at_unix_sockets();
}

// Listening sockets come first in the table, so the first other state ends the search.
void Strangers::look_at_table(const char* table, bool v6) {
  std::ifstream lines(table);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, word, inode;
    words >> number >> local >> remote >> state;
    if (state != "0A") return;
    for (int skipped = 0; skipped < 5; ++skipped) words >> word;
    words >> inode;
    if (is_new(inode)) {
      targets_.push_back({tcp_address(local, v6), SOCK_STREAM, connections_a_port_});
    }
  }
}

void Strangers::look_at_unix_sockets() {
  std::ifstream lines("/proc/net/unix");
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    constexpr std::string_view kAccepts = " 00010000 ";
    if (line.find(kAccepts) == line.npos) continue;
    std::istringstream words(line);
    std::string number, users, protocol, flags, type, state, inode, path;
    words >> number >> users >> protocol >> flags >> type >> state >> inode >> path;
    if (path.empty() || !is_new(inode)) continue;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const bool abstract = path[0] == '@';
    if (abstract) address.sun_path[0] = '\0';
    const std::size_t size = offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1);
    targets_.push_back(
        {bytes_of(address, size), std::stoi(type, nullptr, 16), connections_a_port_});
  }
}

bool Strangers::is_new(const std::string& inode) {
  if (!known_.insert(inode).second || !is_below_this_process(inode)) return false;
  ++ports_;
  return true;
}

bool Strangers::is_below_this_process(const std::string& inode) {
  const std::string target = concat("socket:[", inode, "]");
  for (const std::string& pid : descendants_of(concat(::getpid()))) {
    std::error_code error;
    std::filesystem::directory_iterator entry(concat("/proc/", pid, "/fd"), error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      std::error_code closed;
      if (std::filesystem::read_symlink(entry->path(), closed) == target) return true;
    }
  }
  return false;
}

void Strangers::connect_some(Target& target) {
  sockaddr_storage address{};
  target.address.copy(reinterpret_cast<char*>(&address), sizeof address);
  for (int i = 0; i < kBatch && target.left > 0; ++i, --target.left) {
    Fd fd(::socket(address.ss_family, target.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return;
    const int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                                 static_cast<socklen_t>(target.address.size()));
    if (result != 0 && errno == EAGAIN) return;  // the backlog of a Unix socket is full
    if (result != 0 && errno != EINPROGRESS) {
      target.left = 0;  // the port has closed
      return;
    }
    strangers_.push_back({std::move(fd), opening()});
    ++connections_;
    if (mode_ != Mode::slow) talk(strangers_.back());
  }
}

// Sends what is still to be sent and, in mode replay, appends what it receives to that.
void Strangers::talk(Stranger& stranger) {
  if (!stranger.socket) return;
  const int fd = stranger.socket.get();
  const std::size_t left = stranger.to_send.size() - stranger.sent;
  const std::size_t most = mode_ == Mode::slow ? std::min<std::size_t>(left, 1) : left;
  if (most > 0) {
    const ssize_t sent =
        ::send(fd, stranger.to_send.data() + stranger.sent, most, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) stranger.sent += static_cast<std::size_t>(sent);
  }
  if (mode_ != Mode::replay) return;
  char received[4096];
  const ssize_t got = ::recv(fd, received, sizeof received, MSG_DONTWAIT);
  if (got > 0) stranger.to_send.append(received, static_cast<std::size_t>(got));
}

std::string Strangers::opening() {
  std::string bytes(mode_ == Mode::garbage ? 2048 : 76, '\0');
  std::ranges::generate(bytes, [&] { return static_cast<char>(random_()); });
  if (mode_ == Mode::silent) return "";
  if (mode_ == Mode::garbage) return bytes;
  switch (random_() % 3) {
    case 0:  // a handshake between ranks
      return "bp peer1" + bytes.substr(8);
    case 1:  // the key proof of a probe
      return bytes.substr(0, 32);
    default:  // a hello to the store or to bprun --serve
      return plain_frame(encode_handshake(
          {.op = StoreOp::hello, .number = 1, .strings = {"job-1", bytes.substr(0, 32)}}));
  }
}

}  // namespace bp::test
