#include "base/options/variable_rows.h"

#include <array>

namespace bp {
namespace {

constexpr std::array kOfUsers{
    VariableRow{"BP_ALGORITHM", "NAME", "algorithm of all_reduce, as of comm_bench --algorithm",
                "auto"},
    VariableRow{"BP_BACKEND", "NAME", "how ranks communicate, as comm_bench --backend", "auto"},
    VariableRow{"BP_CUDA_KERNELS", "FILE", "libbp_cuda.so for memory of devices, or none",
                "the one beside libbp_gloo.so, unless BP_CUDA_RUNTIME is set"},
    VariableRow{"BP_CUDA_RUNTIME", "FILE", "libcudart.so for memory of devices",
                "the one that is loaded, or that the system finds"},
    VariableRow{"BP_ENGINE", "NAME", "the launcher whose variables count: bprun, slurm, none, ...",
                "the first whose sign is set"},
    VariableRow{"BP_INTERFACE", "NAME", "network, interface or address that ranks connect through",
                "one that all hosts reach"},
    VariableRow{"BP_JOB_KEY_FILE", "FILE",
                "16 secret bytes or more, from which the job's key comes"},
    VariableRow{"BP_LOG", "LEVEL", "what the library logs: error, warn, info or debug", "warn"},
    VariableRow{"BP_MODEL_KERNELS", "FILE", "libbp_model_cuda.so of bert_train",
                "the one beside the program or in ../lib"},
    VariableRow{"BP_NCCL", "FILE", "libnccl.so.2", "the one that is loaded, or that is found"},
    VariableRow{"BP_OUTPUT", "DIR", "record of each communicator that fails, as of --output"},
    VariableRow{"BP_PLUGIN_DIR", "DIR", "folder of libbp_gloo.so", "that of bp's libraries"},
    VariableRow{"BP_SELECTION", "FILE", "algorithms by size, as comm_bench --tune writes them"},
    VariableRow{"BP_SHARED_FOLDER", "DIR", "shared folder through which ranks of a launcher meet"},
    VariableRow{"BP_STAGING_PIECE", "SIZE", "carry out collectives in pieces of SIZE, such as 4M"},
    VariableRow{"BP_SWEEP_METRIC", "NAME",
                "metric by which bprun sweep, which sets it, compares trials"},
    VariableRow{"BP_TRACE", "DIR", "timeline of each rank in DIR/rank-N.json, as of --trace"},
};

constexpr std::array<std::string_view, 18> kOfRanks{
    "BP_GENERATION", "BP_HOST_NAMES",       "BP_HOST_RANK",      "BP_HOST_WEIGHTS",
    "BP_JOB",        "BP_KEY_FD",           "BP_LAUNCH_COMMAND", "BP_LOCAL_SIZES",
    "BP_STORE",      "BP_TERMINAL_COLUMNS", "GROUP_RANK",        "GROUP_WORLD_SIZE",
    "LOCAL_RANK",    "LOCAL_WORLD_SIZE",    "MASTER_ADDR",       "MASTER_PORT",
    "RANK",          "WORLD_SIZE",
};

}  // namespace

std::span<const VariableRow> variables_of_users() { return kOfUsers; }
std::span<const std::string_view> variables_of_ranks() { return kOfRanks; }

}  // namespace bp
