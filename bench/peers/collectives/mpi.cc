// All-reduce of any MPI: compiled against each one's headers (Intel MPI: against MPICH's), run by
// its own launcher. Their old C++ interfaces are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "protocol.h"

namespace {

// Halves are no part of the standard. Intel MPI has both; these are its handles, of which MPICH's
// headers name the first, though the MPICH of Debian 12 was built without it and aborts.
MPI_Datatype datatype_of(const std::string& type) {
  if (type == "f32") return MPI_FLOAT;
#ifdef MPIX_C_FLOAT16
  constexpr MPI_Datatype kIntelF16 = 0x4c000246;
  constexpr MPI_Datatype kIntelBf16 = 0x4c000247;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  if (std::string(version).starts_with("Intel")) return type == "f16" ? kIntelF16 : kIntelBf16;
#endif
  throw std::runtime_error("no type " + type);
}

class Mpi {
 public:
  explicit Mpi(const std::string& type) : type_(datatype_of(type)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  void all_reduce(void* data, std::size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), type_, MPI_SUM, MPI_COMM_WORLD);
  }
  std::vector<double> largest(std::vector<double> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return values;
  }

 private:
  MPI_Datatype type_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    const peers::Arguments arguments = peers::parse(argc, argv);
    Mpi mpi(arguments.type);
    peers::Bench(mpi, arguments).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
}
