#!/usr/bin/env bash
# The ranks by mpirun of Open MPI, on the hosts of a hostfile ("a slots=3" a line):
#
#   openmpi.sh HOSTFILE PROGRAM ARGS...
#
# Ranks meet by a file in BP_SHARED_FOLDER, which all hosts must see: by default a new one here.
# MPIRUN names another mpirun, where the one on PATH is not Open MPI's.
set -euo pipefail
(($# >= 2)) || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
hostfile=$1
shift
if [[ -z ${BP_SHARED_FOLDER:-} ]]; then
  BP_SHARED_FOLDER=$(mktemp -d "$PWD/bp-meeting-XXXXXX")
  trap 'rm -rf "$BP_SHARED_FOLDER"' EXIT
fi
export BP_SHARED_FOLDER
# Ranks host by host, as they share memory; no binding, for each rank has threads of its own.
"${MPIRUN:-mpirun}" --hostfile "$hostfile" --map-by slot --bind-to none \
  -x BP_SHARED_FOLDER -x PATH -x LD_LIBRARY_PATH "$@"
