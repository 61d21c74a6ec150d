#!/usr/bin/env bash
# The database container: makes the cluster and the database `grain` at the first start, then is
# the server. The superuser's password comes from POSTGRES_PASSWORD and is used at that first
# start only.
set -euo pipefail

data=/var/lib/postgresql/data
bin=$(echo /usr/lib/postgresql/*/bin)

if [ ! -e "$data" ]; then
    : "${POSTGRES_PASSWORD:?must be set at the first start}"
    # Made under another name, so that a start cut short leaves no half of a cluster.
    new=$data.new
    rm -rf "$new"
    "$bin/initdb" -D "$new" --encoding=UTF8 --locale=C.UTF-8 --auth-local=peer \
        --auth-host=scram-sha-256 --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
    echo 'host all all all scram-sha-256' >>"$new/pg_hba.conf"
    echo 'create database grain' | "$bin/postgres" --single -D "$new" postgres
    mv "$new" "$data"
fi
unset POSTGRES_PASSWORD # PL/Python could read it

exec "$bin/postgres" -D "$data" -c listen_addresses='*' "$@"
