#!/usr/bin/env bash
# Open MPI's mpirun starts the ranks on the hosts of a hostfile (lines such as "a slots=3"):
#
#   openmpi.sh HOSTFILE PROGRAM ARGS...
#
# Ranks find each other through a file in BP_SHARED_FOLDER, which all hosts must share (default: a new
# folder here). MPIRUN names Open MPI's mpirun if the one on PATH is another.
set -euo pipefail
(($# >= 2)) || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
hostfile=$1
shift
if [[ -z ${BP_SHARED_FOLDER:-} ]]; then
  BP_SHARED_FOLDER=$(mktemp -d "$PWD/bp-meeting-XXXXXX")
  trap 'rm -rf "$BP_SHARED_FOLDER"' EXIT
fi
export BP_SHARED_FOLDER
# Number the ranks host by host, because ranks of a host share memory. Bind none, because each rank
# has several threads.
"${MPIRUN:-mpirun}" --hostfile "$hostfile" --map-by slot --bind-to none \
  -x BP_SHARED_FOLDER -x PATH -x LD_LIBRARY_PATH "$@"
