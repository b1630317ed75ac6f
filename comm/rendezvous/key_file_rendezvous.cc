// Rendezvous by a key file: all ranks know the key and the address from the start, so rank 0 need
// not publish them.
#include <utility>

#include "base/keys/hmac.h"
#include "base/keys/secret_file.h"
#include "bp/error.h"
#include "comm/rendezvous/channels.h"

namespace bp {
namespace {

class KeyFileRendezvous final : public StoreRendezvous {
 public:
  explicit KeyFileRendezvous(StoreEndpoint endpoint) : endpoint_(std::move(endpoint)) {}

  [[nodiscard]] Known known() const override { return {endpoint_.key, endpoint_.store.port}; }
  void publish(const StoreEndpoint& /*endpoint*/, const Deadline& /*deadline*/) override {}
  StoreEndpoint look_up(const Deadline& /*deadline*/) override { return endpoint_; }
  [[nodiscard]] StoreCaller caller(int rank) const override {
    StoreCaller caller = StoreRendezvous::caller(rank);
    caller.address = "MASTER_ADDR:MASTER_PORT";
    caller.key = "BP_JOB_KEY_FILE";
    return caller;
  }

 private:
  const StoreEndpoint endpoint_;
};

}  // namespace

std::unique_ptr<StoreRendezvous> rendezvous_by_key_file(const LaunchedRank& rank,
                                                        const Variables& variables) {
  std::string secret;
  try {
    secret = read_secret_file(variables.text("BP_JOB_KEY_FILE"));
  } catch (const Error& error) {
    variables.refuse("BP_JOB_KEY_FILE", error.what());
  }
  Hmac hmac(Bytes32{});
  return std::make_unique<KeyFileRendezvous>(StoreEndpoint{
      master_address(rank, variables), hmac({"bp job key 1 ", rank.job, " ", secret})});
}

}  // namespace bp
