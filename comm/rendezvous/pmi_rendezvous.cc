// Rendezvous by PMI-1, whose lines MPICH's process manager and Slurm's pmi2 exchange over PMI_FD:
//
//   cmd=init pmi_version=1 pmi_subversion=1     cmd=response_to_init ... rc=0
//   cmd=get_my_kvsname                          cmd=my_kvsname kvsname=NAME
//   cmd=put kvsname=NAME key=KEY value=VALUE    cmd=put_result rc=0 msg=success
//   cmd=barrier_in                              cmd=barrier_out, once all have sent theirs
//   cmd=get kvsname=NAME key=KEY                cmd=get_result rc=0 msg=success value=VALUE
//   cmd=finalize                                cmd=finalize_ack
//
// The process manager takes a rank that sent init and ends without finalize for failed, and accepts
// no init after finalize. So a process can use PMI only once.
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/rendezvous/channels.h"
#include "comm/store/socket.h"

namespace bp {
namespace {

constexpr const char* kKey = "bp-store";

class PmiRendezvous final : public StoreRendezvous {
 public:
  PmiRendezvous(int fd, std::string found_by) : fd_(fd), found_by_(std::move(found_by)) {}

  void publish(const StoreEndpoint& endpoint, const Deadline& deadline) override {
    const std::string space = begin(deadline);
    (void)ask(concat("cmd=put kvsname=", space, " key=", kKey, " value=", to_text(endpoint)),
              "put_result", deadline);
    (void)ask("cmd=barrier_in", "barrier_out", deadline);
    (void)ask("cmd=finalize", "finalize_ack", deadline);
  }

  StoreEndpoint look_up(const Deadline& deadline) override {
    const std::string space = begin(deadline);
    (void)ask("cmd=barrier_in", "barrier_out", deadline);
    const std::string answer =
        ask(concat("cmd=get kvsname=", space, " key=", kKey), "get_result", deadline);
    (void)ask("cmd=finalize", "finalize_ack", deadline);
    return parse_endpoint(field(answer, "value"));
  }

 private:
  std::string begin(const Deadline& deadline) {
    (void)ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", deadline);
    return field(ask("cmd=get_my_kvsname", "my_kvsname", deadline), "kvsname");
  }

  // Sends a line and reads the one that answers it.
  std::string ask(const std::string& line, const std::string& answer, const Deadline& deadline) {
    std::string why;
    std::string received;
    bool ok = send_all(fd_, line + "\n", deadline, why);
    while (ok && received.find('\n') == std::string::npos) {
      // The descriptor is in blocking mode, which must not be changed, because the whole process
      // shares it. So this waits before it reads.
      why = "no answer";
      ok = is_readable(fd_, deadline) && receive_some(fd_, received, deadline, why);
    }
    if (!ok) {
      throw Error(deadline.passed() ? ErrorCode::timeout : ErrorCode::io,
                  concat(found_by_, ": ", line.substr(0, line.find(" kvsname")), " on PMI_FD=", fd_,
                         ": ", why,
                         " (all ranks must create their communicator, and each process only once; "
                         "split() makes more)"));
    }
    received.resize(received.find('\n'));
    const std::string rc = field(received, "rc");
    if (field(received, "cmd") != answer || (!rc.empty() && rc != "0")) {
      throw Error(ErrorCode::io, concat(found_by_, ": PMI answers '", received, "' to ",
                                        line.substr(0, line.find(" kvsname"))));
    }
    return received;
  }

  // Returns the value of a field, "b" for "a" in "cmd=x a=b c=d", or "" if the line does not have
  // it.
  static std::string field(const std::string& line, const std::string& name) {
    const std::string padded = " " + line;
    const std::size_t at = padded.find(concat(" ", name, "="));
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 2;
    return padded.substr(begin, padded.find(' ', begin) - begin);
  }

  const int fd_;  // not closed here, since the process owns it
  const std::string found_by_;
};

}  // namespace

std::unique_ptr<StoreRendezvous> rendezvous_by_pmi(const LaunchedRank& rank,
                                                   const Variables& variables) {
  const Contract contract(variables, "PMI_RANK", "PMI sets them together");
  return std::make_unique<PmiRendezvous>(contract.required_number("PMI_FD", 0), rank.found_by);
}

}  // namespace bp
