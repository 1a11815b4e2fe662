#!/bin/bash
# Read all traces below TRACES into a shared cache, on the nodes of a Slurm job:
#   TRACES=/shared/runs TB_PRIVATEUSE1_CACHE=/shared/cache sbatch examples/cluster/slurm.sh
# Traces and cache are seen under the same paths on all nodes. Each task is a reader with one core.
#SBATCH --job-name=read-traces
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=16
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=8G
#SBATCH --time=01:00:00
set -eu
: "${TRACES:?a directory with traces that all nodes see}"
: "${TB_PRIVATEUSE1_CACHE:?a directory for the cache that all nodes see}"
export TB_PRIVATEUSE1_CACHE

mkdir -p "$TB_PRIVATEUSE1_CACHE"
place=$(mktemp -d "$TB_PRIVATEUSE1_CACHE/dask.XXXXXX")
# Who reads this file may connect: it stays with its user.
chmod 700 "$place"
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$place"' EXIT

dask scheduler --scheduler-file "$place/scheduler.json" --no-dashboard &
until [ -s "$place/scheduler.json" ]; do sleep 0.2; done
srun dask worker --scheduler-file "$place/scheduler.json" --nthreads 1 --memory-limit 8GB \
  --no-dashboard --local-directory "${TMPDIR:-/tmp}" &
tb-privateuse1 ingest "$TRACES" --engine "dask+file://$place/scheduler.json"
