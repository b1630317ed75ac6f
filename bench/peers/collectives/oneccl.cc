// All-reduce of oneCCL on CPUs, with Intel MPI below it, which is faster than its other transport:
//
//   CCL_ATL_TRANSPORT=mpi mpiexec.hydra -n 2 oneccl --meeting FILE ...
//
// Rank 0 tells its address through the file, which must not exist before, and removes it again.
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

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

// It waits without ever yielding, and two ranks that the scheduler leaves on one core wait for
// long.
void stay_on_core(int rank) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(static_cast<unsigned>(rank % ::sysconf(_SC_NPROCESSORS_ONLN)), &core);
  ::sched_setaffinity(0, sizeof(core), &core);
}

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) throw std::runtime_error(std::string("no ") + variable + ": use mpiexec");
  return std::atoi(text);
}

ccl::shared_ptr_class<ccl::kvs> meet(int rank, const std::filesystem::path& meeting) {
  using Address = ccl::kvs::address_type;
  if (rank == 0) {
    auto kvs = ccl::create_main_kvs();
    const Address address = kvs->get_address();
    const std::filesystem::path part = meeting.string() + ".part";
    std::ofstream(part).write(address.data(), address.size());
    std::filesystem::rename(part, meeting);
    return kvs;
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!std::filesystem::exists(meeting)) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no rank 0");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Address address{};
  std::ifstream(meeting).read(address.data(), address.size());
  return ccl::create_kvs(address);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3 || std::string(argv[1]) != "--meeting") {
      throw std::runtime_error("oneccl --meeting FILE [what protocol.h takes]");
    }
    const peers::Arguments arguments = peers::parse(argc - 2, argv + 2);
    const int rank = number_in("PMI_RANK");
    stay_on_core(rank);
    ccl::init();
    const auto kvs = meet(rank, argv[2]);
    OneCcl system(ccl::create_communicator(number_in("PMI_SIZE"), rank, kvs), arguments.type);
    if (rank == 0) std::filesystem::remove(argv[2]);  // all have read it
    peers::Bench(system, arguments).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "oneccl: %s\n", error.what());
    return 2;
  }
  return 0;
}
