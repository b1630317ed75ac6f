// All-reduce of oneCCL on CPUs. It is its own launcher: `oneccl --ranks N ...` runs itself once a
// rank and hands the address of rank 0 on through a pipe.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <oneapi/ccl.hpp>

#include "protocol.h"

namespace {

ccl::datatype datatype_of(const std::string& type) {
  if (type == "f32") return ccl::datatype::float32;
  if (type == "f16") return ccl::datatype::float16;
  if (type == "bf16") return ccl::datatype::bfloat16;
  throw std::runtime_error("no type " + type);
}

class OneCcl {
 public:
  OneCcl(ccl::communicator comm, const std::string& type)
      : comm_(std::move(comm)), type_(datatype_of(type)) {}
  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  void barrier() { ccl::barrier(comm_); }
  void all_reduce(void* data, std::size_t count) {
    ccl::allreduce(data, data, count, type_, ccl::reduction::sum, comm_).wait();
  }
  std::vector<double> largest(std::vector<double> values) {
    ccl::allreduce(values.data(), values.data(), values.size(), ccl::datatype::float64,
                   ccl::reduction::max, comm_)
        .wait();
    return values;
  }

 private:
  ccl::communicator comm_;
  const ccl::datatype type_;
};

using Address = ccl::kvs::address_type;
using Pipe = std::array<int, 2>;

// It waits without ever yielding, and two ranks that the scheduler leaves on one core wait for
// long.
void stay_on_core(int rank) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(static_cast<unsigned>(rank % ::sysconf(_SC_NPROCESSORS_ONLN)), &core);
  ::sched_setaffinity(0, sizeof(core), &core);
}

void be_rank(int rank, const std::vector<Pipe>& pipes, const peers::Arguments& arguments) {
  stay_on_core(rank);
  // What its own launcher would tell.
  ::setenv("CCL_LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("CCL_LOCAL_SIZE", std::to_string(pipes.size()).c_str(), 1);
  ::setenv("CCL_LOG_LEVEL", "error", 1);
  ccl::init();
  ccl::shared_ptr_class<ccl::kvs> kvs;
  Address address{};
  if (rank == 0) {
    kvs = ccl::create_main_kvs();
    address = kvs->get_address();
    for (const Pipe& pipe : pipes) {
      if (::write(pipe[1], address.data(), address.size()) < 0) throw std::runtime_error("pipe");
    }
  } else {
    // An address is shorter than what a pipe passes on in one piece.
    if (::read(pipes[static_cast<std::size_t>(rank)][0], address.data(), address.size()) <= 0) {
      throw std::runtime_error("rank 0 has ended");
    }
    kvs = ccl::create_kvs(address);
  }
  OneCcl system(ccl::create_communicator(static_cast<int>(pipes.size()), rank, kvs),
                arguments.type);
  peers::Bench(system, arguments).run();
}

int guarded(int rank, const std::vector<Pipe>& pipes, const peers::Arguments& arguments) {
  try {
    be_rank(rank, pipes, arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oneccl: rank %d: %s\n", rank, error.what());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || std::string(argv[1]) != "--ranks") {
    std::fprintf(stderr, "oneccl --ranks N [what protocol.h takes]\n");
    return 2;
  }
  const peers::Arguments arguments = peers::parse(argc - 2, argv + 2);
  std::vector<Pipe> pipes(std::stoul(argv[2]));
  for (Pipe& pipe : pipes) {
    if (::pipe(pipe.data()) != 0) return 2;
  }
  for (std::size_t rank = 0; rank < pipes.size(); ++rank) {
    if (::fork() == 0) return guarded(static_cast<int>(rank), pipes, arguments);
  }
  int worst = 0;
  for (int status = 0; ::wait(&status) > 0;) worst = std::max(worst, status == 0 ? 0 : 2);
  return worst;
}
