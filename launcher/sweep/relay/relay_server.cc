#include "launcher/sweep/relay/relay_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/relay/passed_streams.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::string_view kFolderName = "/tmp/bprun-sweep-";
constexpr int kLostCode = 255;  // as ssh's

[[noreturn]] void cannot_listen(const std::string& what) {
  throw Error(ErrorCode::io, concat("cannot make ", what, ": ", error_text(errno)));
}

}  // namespace

struct RelayServer::Client {
  Fd socket;
  std::string host;
  std::optional<std::uint32_t> command;  // once it runs
};

RelayServer::RelayServer(EventLoop& loop, FindHost find) : loop_(loop), find_(std::move(find)) {
  std::string name = concat(kFolderName, "XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) {  // with mode 0700
    cannot_listen(name);
  }
  folder_ = name;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path().copy(address.sun_path, sizeof address.sun_path - 1);
  socket_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_ ||
      ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket_.get(), SOMAXCONN) != 0) {
    cannot_listen(path());
  }
  loop_.watch(socket_.get(), POLLIN, [this](short) { accept_one(); });
}

RelayServer::~RelayServer() {
  while (!clients_.empty()) {
    forget(clients_.begin()->first);
  }
  loop_.forget(socket_.get());
  remove_relay_folder(folder_);
}

void RelayServer::accept_one() {
  Fd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    return;
  }
  const int fd = socket.get();
  clients_[fd] = std::make_unique<Client>(Client{std::move(socket), {}, {}});
  loop_.watch(fd, POLLIN, [this, fd](short) { read_from(fd); });
}

// The client's one message, and after that its end.
void RelayServer::read_from(int fd) {
  Client& client = *clients_.at(fd);
  if (client.command) {
    forget(fd);
    return;
  }
  auto streams = receive_streams(fd);
  if (!streams) {
    forget(fd);
    return;
  }
  client.host = streams->host;
  HostConnection* const host = find_(client.host);
  if (host == nullptr || !host->ready()) {
    const std::string text = concat("bprun sweep: host ", client.host, " is lost\n");
    static_cast<void>(write_all(streams->errors.get(), text.data(), text.size()));
    finish(fd, kLostCode);
    return;
  }
  client.command = 0;
  client.command = host->open(std::move(*streams), [this, fd](int code) { finish(fd, code); });
}

void RelayServer::finish(int fd, int code) {
  const auto found = clients_.find(fd);
  if (found != clients_.end()) {
    const auto wire = static_cast<std::int32_t>(code);
    static_cast<void>(::send(fd, &wire, sizeof wire, MSG_NOSIGNAL));
    found->second->command.reset();
    forget(fd);
  }
}

// Hangs up the client's command if it still runs.
void RelayServer::forget(int fd) {
  const auto client = clients_.extract(fd);
  loop_.forget(fd);
  if (client.mapped()->command) {
    if (HostConnection* const host = find_(client.mapped()->host)) {
      host->hang_up(*client.mapped()->command);
    }
  }
}

void remove_relay_folder(const std::string& folder) {
  if (folder.starts_with(kFolderName)) {
    ::unlink((folder + "/relay").c_str());
    ::rmdir(folder.c_str());
  }
}

}  // namespace bp::launcher::sweep
