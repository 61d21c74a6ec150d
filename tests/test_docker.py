"""The server's installation, the private cluster, and the containers without Docker."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "docker"
SCRIPTS = [*sorted(DOCKER.glob("*.sh")), ROOT / ".ci" / "run"]
DOCKERFILE = (DOCKER / "Dockerfile").read_text()

on_debian = pytest.mark.skipif(
    not list(Path("/usr/share/postgresql").glob("*/extension/vector.control")),
    reason="PostgreSQL is not installed from Debian's packages here",
)


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, capture_output=True, timeout=120, **options)


def copied() -> list[str]:
    """What the Dockerfile's COPY lines take from the context."""
    lines = re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE)
    return [source for line in lines for source in line.split()]


# --- scripts ---


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_is_sound(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert run("bash", "-n", script).returncode == 0
    shellcheck = shutil.which("shellcheck") or shutil.which("shellcheck", path=ROOT / ".venv/bin")
    if shellcheck:
        checked = run(shellcheck, script)
        assert checked.returncode == 0, checked.stdout


def test_container_and_bare_machine_run_the_same_installation() -> None:
    assert "docker/install-postgres.sh" in copied()
    assert re.search(r"^RUN /tmp/install-postgres\.sh", DOCKERFILE, re.MULTILINE)
    assert re.search(r"^\t@docker/install-postgres\.sh", (ROOT / "Makefile").read_text(), re.M)


def test_installation_names_no_host() -> None:
    assert "://" not in (DOCKER / "install-postgres.sh").read_text()


@on_debian
def test_second_installation_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "apt-get").symlink_to("/bin/false")
    again = run(
        DOCKER / "install-postgres.sh",
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert again.returncode == 0, again.stderr
    assert "are there" in again.stdout


# --- the private cluster ---


class Cluster:
    """cluster.sh of a project that lives elsewhere."""

    def __init__(self, project: Path) -> None:
        self.data = project / ".grain" / "pgdata"
        self.script = project / "docker" / "cluster.sh"
        self.script.parent.mkdir(parents=True)
        shutil.copy(DOCKER / "cluster.sh", self.script)

    def do(self, what: str) -> str:
        # What would lead libpq or the server astray, were it passed on.
        env = os.environ | {"PGDATA": "/nowhere", "PGPORT": "1", "PYTHONHOME": "/nowhere"}
        env["SOME_API_KEY"] = "known to the server"
        done = run(self.script, what, env=env, cwd="/")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def ask(self, sql: str) -> Any:
        with psycopg.connect(self.do("dsn").strip()) as connection:
            row = connection.execute(sql).fetchone()
            assert row is not None
            return row[0]


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    place = getattr(request, "param", "open to all")
    project = Path(tempfile.mkdtemp())
    if place != "private":  # as below root's home, where the server's user cannot enter
        project.chmod(0o755)
    cluster = Cluster(project / place)
    try:
        yield cluster
    finally:
        cluster.do("destroy")
        shutil.rmtree(project)


@on_debian
@pytest.mark.parametrize(
    "cluster", ["open to all", "private", "a_long_name" + "g" * 100], indirect=True
)
def test_cluster_lives_and_is_destroyed_whole(cluster: Cluster) -> None:
    dsn = cluster.do("dsn")
    assert re.fullmatch(r"host=/\S+ port=5432 dbname=grain user=postgres\n", dsn)
    assert cluster.do("dsn") == dsn
    assert cluster.ask("show listen_addresses") == ""
    assert cluster.ask("select pg_encoding_to_char(encoding) from pg_database limit 1") == "UTF8"
    socket_directory = Path(cluster.ask("show unix_socket_directories"))
    assert socket_directory.stat().st_mode & 0o077 == 0
    directory = Path(f"/proc/{cluster.pid()}/cwd")
    assert directory.samefile(cluster.data)
    cluster.do("destroy")
    assert not directory.exists()
    assert not cluster.data.is_symlink()
    assert not cluster.data.exists()
    assert not socket_directory.exists()


@on_debian
def test_server_has_the_systems_python_and_the_callers_keys(cluster: Cluster) -> None:
    with psycopg.connect(cluster.do("dsn").strip()) as connection:
        connection.execute("create extension plpython3u")
        connection.execute(
            "create function seen() returns text[] language plpython3u as"
            " 'import os, sys; return [sys.prefix, os.environ[\"SOME_API_KEY\"]]'"
        )
        seen = connection.execute("select seen()").fetchone()
    assert seen == (["/usr", "known to the server"],)


@on_debian
def test_commit_outlives_a_killed_server(cluster: Cluster) -> None:
    with psycopg.connect(cluster.do("dsn").strip(), autocommit=True) as connection:
        connection.execute("create table kept as select 42 as answer")
        os.kill(cluster.pid(), signal.SIGKILL)
    assert cluster.ask("select answer from kept") == 42


@on_debian
def test_pid_of_another_process_is_no_server(cluster: Cluster) -> None:
    cluster.do("start")
    cluster.do("stop")
    # A reboot later the number may be that of a process of the same user.
    owner = (cluster.data / "PG_VERSION").stat()
    other = subprocess.Popen(["sleep", "600"], user=owner.st_uid, group=owner.st_gid)
    try:
        lock = cluster.data / "postmaster.pid"
        lock.write_text(f"{other.pid}\n{cluster.data.resolve()}\n1\n5432\n")
        os.chown(lock, owner.st_uid, owner.st_gid)
        assert cluster.ask("select 1") == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


# --- containers ---


def test_every_copied_file_exists_and_reaches_the_builder() -> None:
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text().split("\n")
    let_in = [line[1:] for line in ignored if line.startswith("!")]
    assert copied()
    for source in copied():
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source, pattern) for pattern in let_in), source


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())


def test_compose_is_read_by_docker() -> None:
    docker = shutil.which("docker")
    if not docker or run(docker, "compose", "version").returncode != 0:
        pytest.skip("no docker compose here")
    env = os.environ | {"POSTGRES_PASSWORD": "x"}
    read = run(docker, "compose", "-f", DOCKER / "compose.yaml", "config", "--quiet", env=env)
    assert read.returncode == 0, read.stderr


def test_compose_builds_targets_that_exist(compose: Any) -> None:
    targets = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)
    for name, service in compose["services"].items():
        build = service["build"]
        assert build["target"] == name
        assert name in targets
        assert (DOCKER / build["context"] / build["dockerfile"]).samefile(DOCKER / "Dockerfile")


def test_loader_waits_for_a_healthy_database(compose: Any) -> None:
    database, loader = compose["services"]["database"], compose["services"]["loader"]
    assert loader["depends_on"]["database"]["condition"] == "service_healthy"
    assert "--host=127.0.0.1" in database["healthcheck"]["test"]
    assert loader["environment"]["PGHOST"] == "database"


def test_database_keeps_its_data_and_is_not_published(compose: Any) -> None:
    database = compose["services"]["database"]
    volume, place = database["volumes"][0].split(":")
    assert volume in compose["volumes"]
    assert f"VOLUME {place}\n" in DOCKERFILE
    assert f"data={place}/" in (DOCKER / "database.sh").read_text()
    assert "ports" not in database


def test_compose_holds_no_secret(compose: Any) -> None:
    database, loader = (compose["services"][name]["environment"] for name in ("database", "loader"))
    for key in (database["OPENAI_API_KEY"], loader["OPENAI_API_KEY"]):
        assert key is None  # by name only
    for password in (database["POSTGRES_PASSWORD"], loader["PGPASSWORD"]):
        assert re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", password)


# --- the loader container's script, with a stand-in for pg-grain ---

STAND_IN = """#!/bin/bash
echo "$1"
case $1 in
serve) [ ! -e "$0.broken" ] || exit 3; exec sleep 600 ;;
work) sleep 600 & trap 'kill $!; echo batch finished; exit' TERM; echo ready; wait ;;
esac
"""


@pytest.fixture
def loader(tmp_path: Path) -> Path:
    stand_in = tmp_path / "pg-grain"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    return stand_in


def start_loader(stand_in: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [DOCKER / "loader.sh"],
        env=os.environ | {"PATH": f"{stand_in.parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_loader_finishes_its_batch_when_stopped(loader: Path) -> None:
    process = start_loader(loader)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["install\n", "tokenizer\n"]
    while process.stdout.readline() != "ready\n":
        assert process.poll() is None
    process.terminate()
    assert "batch finished\n" in process.stdout.read()
    assert process.wait(10) == 0


def test_loader_ends_when_a_part_of_it_does(loader: Path) -> None:
    loader.with_name("pg-grain.broken").touch()
    process = start_loader(loader)
    assert process.wait(10) == 3
