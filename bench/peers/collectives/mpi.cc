// The collectives of any MPI: compiled against each one's headers (Intel MPI: against MPICH's), run
// by its own launcher. Their old C++ interfaces are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "halves.h"
#include "protocol.h"

namespace {

struct Arithmetic {
  MPI_Datatype type;
  MPI_Op sum;
};

// Halves are not part of the standard. Intel MPI has both; these are its handles, of which MPICH's
// headers name the first, though the MPICH of Debian 12 was built without it and aborts. The others
// get what an application would give them: an operation of its own on elements of 16 bits.
Arithmetic arithmetic_of(const std::string& type) {
  if (type == "f32") return {MPI_FLOAT, MPI_SUM};
#ifdef MPIX_C_FLOAT16
  constexpr MPI_Datatype kIntelF16 = 0x4c000246;
  constexpr MPI_Datatype kIntelBf16 = 0x4c000247;
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  if (std::string(version).starts_with("Intel")) {
    return {type == "f16" ? kIntelF16 : kIntelBf16, MPI_SUM};
  }
#endif
  MPI_Op sum = MPI_OP_NULL;
  const int commutes = 1;
  MPI_Op_create(type == "f16" ? peers::add_f16 : peers::add_bf16, commutes, &sum);
  return {MPI_UINT16_T, sum};
}

class Mpi {
 public:
  explicit Mpi(const std::string& type) : arithmetic_(arithmetic_of(type)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  void all_reduce(void* data, std::size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), arithmetic_.type, arithmetic_.sum,
                  MPI_COMM_WORLD);
  }
  peers::Collective collective(const std::string& op, std::size_t count);
  std::vector<double> largest(std::vector<double> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return values;
  }

 private:
  Arithmetic arithmetic_;
  int rank_ = 0;
  int size_ = 1;
};

// The element of a rank's input.
int element(int rank, std::size_t i) {
  static const peers::Type kType = peers::type_named("f32");
  return peers::element(kType, rank, i);
}

peers::Collective Mpi::collective(const std::string& op, std::size_t count) {
  const int rank = rank_;
  const int size = size_;
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t share = std::max<std::size_t>(count / ranks, 1);
  const std::size_t whole = std::max<std::size_t>(count, 1);
  const auto all = static_cast<int>(whole);
  const auto one = static_cast<int>(share);
  const std::size_t before =
      share * static_cast<std::size_t>(rank);  // of the ranks before this one
  const MPI_Comm world = MPI_COMM_WORLD;
  const auto own = [rank](std::size_t i) { return element(rank, i); };
  const auto of_shares = [share](std::size_t i) {
    return element(static_cast<int>(i / share), i % share);
  };
  if (op == "barrier") return {1, 0, [=](float*, float*) { MPI_Barrier(world); }, own};
  if (op == "broadcast") {
    return {whole, 0, [=](float* in, float*) { MPI_Bcast(in, all, MPI_FLOAT, 0, world); },
            [](std::size_t i) { return element(0, i); }};
  }
  if (op == "reduce") {  // by the maximum, which any number of calls leaves as it is
    const auto largest = [=](std::size_t i) {
      int most = element(rank, i);
      for (int r = 0; rank == 0 && r < size; ++r) most = std::max(most, element(r, i));
      return most;
    };
    return {whole, 0,
            [=](float* in, float*) {
              MPI_Reduce(rank == 0 ? MPI_IN_PLACE : in, in, all, MPI_FLOAT, MPI_MAX, 0, world);
            },
            largest};
  }
  if (op == "reduce_scatter") {
    const auto sum = [=](std::size_t i) {
      int total = 0;
      for (int r = 0; r < size; ++r) total += element(r, before + i);
      return total;
    };
    return {share * ranks, share,
            [=](float* in, float* out) {
              MPI_Reduce_scatter_block(in, out, one, MPI_FLOAT, MPI_SUM, world);
            },
            sum};
  }
  if (op == "all_gather") {
    return {share, share * ranks,
            [=](float* in, float* out) {
              MPI_Allgather(in, one, MPI_FLOAT, out, one, MPI_FLOAT, world);
            },
            of_shares};
  }
  if (op == "gather") {
    const auto call = [=](float* in, float* out) {
      MPI_Gather(in, one, MPI_FLOAT, out, one, MPI_FLOAT, 0, world);
    };
    if (rank != 0) return {share, 0, call, own};
    return {share, share * ranks, call, of_shares};
  }
  if (op == "scatter") {
    return {share * ranks, share,
            [=](float* in, float* out) {
              MPI_Scatter(in, one, MPI_FLOAT, out, one, MPI_FLOAT, 0, world);
            },
            [=](std::size_t i) { return element(0, before + i); }};
  }
  if (op == "all_to_all") {
    return {
        share * ranks, share * ranks,
        [=](float* in, float* out) {
          MPI_Alltoall(in, one, MPI_FLOAT, out, one, MPI_FLOAT, world);
        },
        [=](std::size_t i) { return element(static_cast<int>(i / share), before + i % share); }};
  }
  throw std::runtime_error("no collective " + op);
}

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
