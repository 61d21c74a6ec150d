#!/usr/bin/env bash
# The loader container: brings pg_grain in the database up to date, then answers embedding requests
# with the local model and drains the queue. The connection is libpq's PG* settings.
set -euo pipefail

pg-grain install
pg-grain tokenizer add cl100k_base

# In the compose network, under the service's name, which the database is told.
pg-grain serve --host 0.0.0.0 --allow-remote --announce http://loader:8089/v1 &
pg-grain work &
# The worker finishes its batch before it leaves. If either ends by itself, so does the container,
# and its restart policy starts both again.
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' TERM INT
wait -n
