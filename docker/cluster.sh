#!/usr/bin/env bash
# The project's private PostgreSQL cluster, under .grain/, for tests, demo and benchmarks:
#
#   cluster.sh start|stop|dsn|destroy
#
# It is never the system's cluster, listens on a Unix socket only, and may be thrown away. `dsn`
# starts it if need be and prints its DSN, and nothing else, on standard output.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
state=$project/.grain
short=pg_grain-$(printf %s "$project" | sha256sum | cut -c 1-12)
user=$(id -un)
server=$user
away=/tmp/$short
if [ "$user" = root ]; then # PostgreSQL refuses to run as root
    server=postgres
    away=/var/lib/$short
fi

die() { echo "cluster: $*" >&2; exit 1; }

# The caller's environment stays out of the server: PL/Python would find a virtual environment in
# PATH, and libpq its settings. The keys that models name are what the server may need.
for name in $(compgen -e); do
    case $name in
    OPENAI_* | *_API_KEY | PG_MAJOR | BASHOPTS | SHELLOPTS) ;;
    *) unset "$name" ;;
    esac
done
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8

# Runs a command as the server's user, without file 9: that is the lock below, which a server
# would hold for as long as it lives.
as_server() {
    local command=("$@")
    [ "$user" = "$server" ] || command=(runuser -u "$server" -- "$@")
    (cd / && exec "${command[@]}") 9>&-
}

# Makes a directory that only the server's user and root can enter: who reaches the socket is a
# superuser without a password, and a superuser runs code as the server's user.
own() {
    mkdir -p "$1"
    [ "$user" = "$server" ] || chown "$server:" "$1"
    chmod 700 "$1"
}

id "$server" >/dev/null 2>&1 || die 'PostgreSQL is not installed: make install-postgres'
mkdir -p "$state"
data=$state/pgdata
run=$state/run
# The server's user cannot enter a project below root's home: then all is kept away from it.
if ! as_server test -x "$state"; then
    own "$away"
    own "$away/pgdata"
    ln -sfn "$away/pgdata" "$data"
    run=$away/run
# A socket's path has at most 107 bytes, and a DSN has no need for quotes if it is plain.
elif ! [[ $run =~ ^[A-Za-z0-9/._-]{1,90}$ ]]; then
    own "$away"
    run=$away/run
fi
own "$data/"
own "$run"
data=$(readlink -f "$data")

# The newest PostgreSQL that has both extensions, unless the data were made by another.
major=${PG_MAJOR:-$(
    for server in /usr/lib/postgresql/*/bin/postgres; do
        version=$(basename "${server%/bin/postgres}")
        extensions=/usr/share/postgresql/$version/extension
        [ ! -e "$extensions/vector.control" ] || [ ! -e "$extensions/plpython3u.control" ] || echo "$version"
    done | sort -n | tail -n 1
)}
[ ! -e "$data/PG_VERSION" ] || major=$(cat "$data/PG_VERSION")
bin=/usr/lib/postgresql/$major/bin
[ -n "$major" ] && [ -x "$bin/postgres" ] ||
    die "no PostgreSQL ${major:-with PL/Python and pgvector} here: make install-postgres"

dsn() { echo "host=$run port=5432 dbname=$1 user=postgres"; }
answers() { as_server "$bin/pg_isready" -q -d "$(dsn postgres)"; }
psql() { as_server "$bin/psql" -XqAt -d "$(dsn postgres)" -c "$1"; }
pg_ctl() { as_server "$bin/pg_ctl" -s -w -t 300 -D "$data" "$@"; }

# fsync is off because only a crash of the whole machine can then lose data, and this cluster can
# be made anew. synchronous_commit stays on: without it a kill -9 of the server loses commits, and
# a test of pg_grain's crash safety would blame pg_grain.
settings="-c listen_addresses='' -c port=5432 -c unix_socket_directories=$run -c fsync=off \
-c shared_buffers=256MB -c maintenance_work_mem=256MB -c max_connections=100 -c jit=off \
-c default_text_search_config=pg_catalog.english"

start() {
    local pid attempt
    if [ ! -e "$data/PG_VERSION" ]; then
        as_server "$bin/initdb" -D "$data" --username=postgres --auth=trust --encoding=UTF8 \
            --locale=C.UTF-8 --no-sync >"$state/initdb.log" || die "see $state/initdb.log"
    fi
    # A server's working directory is its data. After a crash of the machine the pid in the file
    # may be another process's, and PostgreSQL would take that one for a server and not start.
    pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null || true)
    if [ -e "/proc/$pid/stat" ] && [ "$(readlink "/proc/$pid/cwd")" != "$data" ]; then
        rm -f "$data/postmaster.pid" "$run"/.s.PGSQL.*
        pid=
    fi
    # More than once: it may be recovering, or a killed one's children still on their way out.
    for attempt in {1..10}; do
        if answers; then break; fi
        [ "$attempt" = 1 ] || sleep 1
        [ -e "/proc/${pid:-none}" ] ||
            pg_ctl start -l "$data/server.log" -o "$settings" >/dev/null 2>&1 || true
    done
    answers || die "the server does not start: see $data/server.log, or throw it away by make clean"
    [ -n "$(psql "select 1 from pg_database where datname = 'grain'")" ] || psql 'create database grain'
}

stop() {
    if pg_ctl status >/dev/null; then pg_ctl stop -m fast; fi
}

exec 9>"$state/lock"
flock 9
case "${1:-}" in
start) start >&2 ;;
stop) stop >&2 ;;
dsn)
    start >&2
    dsn grain
    ;;
destroy)
    stop >&2
    rm -rf "$state/pgdata" "$state/run" "$away"
    ;;
*) die 'usage: cluster.sh start|stop|dsn|destroy' ;;
esac
