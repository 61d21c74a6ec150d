#!/usr/bin/env bash
# Installs what pg_grain needs of a server on Debian 12 or 13: PostgreSQL with its contrib
# modules, PL/Python and pgvector. The Dockerfile and the Makefile both run it.
#
#   install-postgres.sh [--upgrade]
#
# Run it as root, as often as you like: what is there is left alone, and a second run needs no
# network (--upgrade looks for a newer pgvector again). It starts, stops and restarts no server
# and makes no cluster: a server that runs while its packages are upgraded goes on with the old
# ones until its owner restarts it.
#
# PG_MAJOR chooses another PostgreSQL than the distribution's, if apt knows its packages.
set -euo pipefail

floor=0.8.0  # the first pgvector with iterative index scans
wished=0.8.6 # past the repairs of parallel builds (0.8.2) and of vacuum of HNSW indexes (0.8.4)
suites='sid trixie'

say() { echo "install-postgres: $*"; }
die() { say "$*" >&2; exit 1; }

if [ -z "${PG_MAJOR:-}" ]; then
    # shellcheck source=/dev/null
    case "$(. /etc/os-release && echo "$ID $VERSION_ID")" in
    'debian 12') PG_MAJOR=15 ;;
    'debian 13') PG_MAJOR=17 ;;
    *) die 'this is neither Debian 12 nor 13: set PG_MAJOR to a PostgreSQL that apt can install' ;;
    esac
fi
extensions=/usr/share/postgresql/$PG_MAJOR/extension
vector_package=postgresql-$PG_MAJOR-pgvector

vector_version() { # of the installed files, whoever put them there
    sed -n "s/^default_version = '\(.*\)'/\1/p" "$extensions/vector.control" 2>/dev/null || true
}
vector_is_at_least() {
    local version
    version=$(vector_version)
    [ -n "$version" ] && dpkg --compare-versions "$version" ge "$1"
}
built_here() { # then it was the newest that could be had
    [[ $(dpkg-query -W -f '${Version}' "$vector_package" 2>/dev/null) == *~local ]]
}

packages=()
[ -x "/usr/lib/postgresql/$PG_MAJOR/bin/postgres" ] || packages+=("postgresql-$PG_MAJOR")
[ -e "$extensions/plpython3u.control" ] || packages+=("postgresql-plpython3-$PG_MAJOR")

if [ ${#packages[@]} = 0 ] && [ "${1:-}" != --upgrade ] && vector_is_at_least "$floor"; then
    if vector_is_at_least "$wished" || built_here; then
        say "PostgreSQL $PG_MAJOR, PL/Python and pgvector $(vector_version) are there"
        exit 0
    fi
fi
[ "$(id -u)" = 0 ] || die "must be root to install ${packages[*]-} $vector_package"

scratch=$(mktemp -d)
log=$scratch/log
policy=/usr/sbin/policy-rc.d
cluster_defaults=/etc/postgresql-common/createcluster.d/pg_grain.conf
temporary=("$scratch" "$cluster_defaults")
finish() {
    local status=$?
    [ $status = 0 ] || cat "$log" >&2 || true
    rm -rf "${temporary[@]}"
}
trap finish EXIT

# Debian's packages make a cluster and start every cluster they find, unless they are told not to.
mkdir -p "${cluster_defaults%/*}"
echo 'create_main_cluster = false' >"$cluster_defaults"
if [ ! -e "$policy" ]; then
    temporary+=("$policy")
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
install_packages() {
    apt-get install -qq --no-install-recommends \
        -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" >"$log" 2>&1
    say "installed $*"
}

apt-get update -qq >"$log" 2>&1 || say 'apt-get update failed, at least in part' >&2
[ ${#packages[@]} = 0 ] || install_packages "${packages[@]}"

# Debian 12 has no pgvector that is new enough and 13 has the oldest that is, so its source comes
# from a newer suite on the mirror that this machine uses, through a source list that only this
# function sees. apt verifies the suite with Debian's own keys, and the source with the suite.
fetch_source() (
    suite=$1
    # shellcheck disable=SC2016 # apt expands it
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' |
        head -n 1)
    keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.[gp][gp][gp]' | head -n 1)
    rm -rf "$scratch/source"
    mkdir -p "$scratch/source" "$scratch/lists-$suite/partial"
    printf '%s\n' 'Types: deb-src' "URIs: $mirror" "Suites: $suite" 'Components: main' \
        "Signed-By: $keys" >"$scratch/$suite.sources"
    chown -R _apt "$scratch" # the user that apt downloads as
    cd "$scratch/source"
    apt() {
        apt-get -qq -o Dir::Etc::sourcelist="$scratch/$suite.sources" \
            -o Dir::Etc::sourceparts=- -o Dir::State::lists="$scratch/lists-$suite" "$@"
    }
    apt update && apt source --download-only pgvector
) >"$log" 2>&1

# It becomes a real package: dpkg knows its files, and apt can remove it or upgrade it.
build_package() (
    version=$1
    tree=$scratch/tree
    root=$scratch/root
    mkdir -p "$tree" "$root/DEBIAN"
    tar -xf "$scratch"/source/pgvector_*.orig.tar.* -C "$tree" --strip-components=1
    # OPTFLAGS would be -march=native: the result has to run on other processors too.
    make -C "$tree" install OPTFLAGS='' DESTDIR="$root" \
        PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config"
    printf '%s\n' "Package: $vector_package" "Version: $version~local" \
        "Architecture: $(dpkg --print-architecture)" "Depends: postgresql-$PG_MAJOR" \
        'Maintainer: local build <root@localhost>' \
        "Description: vector similarity search, built from Debian's source" \
        >"$root/DEBIAN/control"
    dpkg-deb --build --root-owner-group "$root" "$scratch/pgvector.deb"
    dpkg --install "$scratch/pgvector.deb"
) >"$log" 2>&1

for suite in $suites; do
    if ! fetch_source "$suite"; then
        say "the source of pgvector could not be fetched from Debian $suite" >&2
        continue
    fi
    available=$(sed -n 's/^Version: //p' "$scratch"/source/pgvector_*.dsc | head -n 1)
    if ! vector_is_at_least "${available%-*}"; then
        install_packages gcc libc6-dev make xz-utils "postgresql-server-dev-$PG_MAJOR"
        build_package "$available"
        say "built and installed pgvector ${available%-*} from Debian $suite"
    fi
    break
done

vector_is_at_least "$floor" || die "no pgvector from $floor on could be had"
vector_is_at_least "$wished" ||
    say "pgvector $(vector_version) is older than $wished; --upgrade looks for a newer one" >&2
say "ready: PostgreSQL $PG_MAJOR, PL/Python, pgvector $(vector_version)"
