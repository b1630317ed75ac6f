#!/usr/bin/env bash
# The ranks by torchrun: the same command on every host, in any order. RANKS may differ between them.
#
#   torchrun.sh HOSTS RANKS FIRST_HOST:PORT PROGRAM ARGS...
#
# When a rank fails, torchrun starts all of them anew, at most three times. TORCHRUN names another
# command, split at spaces: "python -m torch.distributed.run".
set -euo pipefail
(($# >= 4)) || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
hosts=$1 ranks=$2 endpoint=$3
shift 3
# "--": torchrun would take options such as --run for its own.
# shellcheck disable=SC2086
exec ${TORCHRUN:-torchrun} --nnodes="$hosts" --nproc-per-node="$ranks" --max-restarts=3 \
  --rdzv-backend=c10d --rdzv-endpoint="$endpoint" --rdzv-id=bp --no-python -- "$@"
