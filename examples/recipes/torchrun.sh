#!/usr/bin/env bash
# torchrun starts the ranks. Run this command on every host, in any order; RANKS may differ.
#
#   torchrun.sh HOSTS RANKS FIRST_HOST:PORT PROGRAM ARGS...
#
# If a rank fails, torchrun restarts all ranks, at most three times. TORCHRUN names another command
# than torchrun, which is split at spaces: "python -m torch.distributed.run".
set -euo pipefail
(($# >= 4)) || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
hosts=$1 ranks=$2 endpoint=$3
shift 3
# Without "--", torchrun would take options such as --run for its own.
# shellcheck disable=SC2086
exec ${TORCHRUN:-torchrun} --nnodes="$hosts" --nproc-per-node="$ranks" --max-restarts=3 \
  --rdzv-backend=c10d --rdzv-endpoint="$endpoint" --rdzv-id=bp --no-python -- "$@"
