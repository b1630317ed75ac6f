#include "launcher/protocol/hello.h"

#include <elf.h>
#include <link.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/hex.h"
#include "base/system/socket_address.h"
#include "base/system/usable_cores.h"
#include "bp/version.h"

namespace bp::launcher {
namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

// Searches the notes of the first object, which is the program itself, and then stops.
int find_build_id(dl_phdr_info* info, std::size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) {
      continue;
    }
    const auto* at = reinterpret_cast<const unsigned char*>(info->dlpi_addr + header.p_vaddr);
    const unsigned char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const unsigned char* content = at + sizeof note + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && content + note.n_descsz <= end) {
        *static_cast<std::string*>(result) = to_hex({content, note.n_descsz});
        return 1;
      }
      at = content + padded(note.n_descsz);
    }
  }
  return 1;
}

// Reads the addresses of the ssh connection: "client port server port".
void read_ssh_connection(Hello& hello) {
  const char* value = std::getenv("SSH_CONNECTION");
  std::istringstream words(value != nullptr ? value : "");
  std::string port;
  words >> hello.client_address >> port >> hello.server_address;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string own_version() { return BP_VERSION; }

std::string own_build() {
  std::string id = "unknown";
  ::dl_iterate_phdr(&find_build_id, &id);
  return id;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

Hello make_hello(int free_port) {
  Hello hello;
  hello.version = own_version();
  hello.build = own_build();
  hello.host_name = own_host_name();
  hello.machine = first_line("/proc/sys/kernel/random/boot_id");
  static const int kCores = usable_cores().computing();  // reads files; a job says hello five times
  hello.cores = kCores;
  hello.free_port = free_port;
  read_ssh_connection(hello);
  return hello;
}

HeldPort::HeldPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const SocketAddress any = numeric_address("0.0.0.0");
  if (socket_ && ::bind(socket_.get(), any.get(), any.size) == 0) {
    number_ = own_address(socket_.get()).port();
  }
}

}  // namespace bp::launcher
