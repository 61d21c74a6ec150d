"""The worker: claim in a short transaction, ask the provider in none, complete in a short one."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from types import FrameType
from typing import Any, NamedTuple

import psycopg
from pgvector import HalfVector
from psycopg.rows import dict_row, namedtuple_row

from .database import Connection, connect, teach_vectors
from .providers import Provider, ProviderError, embed_isolating, make_provider

log = logging.getLogger(__name__)

#: Longest wait between two looks at an empty queue, in seconds.
POLL = 2.0
#: Shortest time between two sweeps, which read every chunk, in seconds.
SWEEP = 300.0


class Job(NamedTuple):
    """A row of grain.claim()."""

    tenant_id: Any
    job_id: int
    kind: str
    attempts: int
    source_id: int | None
    key: str | None
    model: str | None
    content_hash: bytes | None
    input: str | None
    token_count: int | None


@dataclass
class Tally:
    """What a worker has done: jobs by their end."""

    split: int = 0
    embedded: int = 0
    failed: int = 0
    pipeline: list[str] = field(default_factory=list)


class Worker:
    """Drains the queue over one connection. `stop` makes it leave after the batch in hand."""

    def __init__(
        self,
        connection: Connection,
        name: str | None = None,
        batch: int = 128,
        tokens: int = 100_000,
        lease: int = 300,
    ) -> None:
        self.connection = connection
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.batch = batch
        self.tokens = tokens
        self.lease = lease
        self.stop = threading.Event()
        self.tally = Tally()
        self._providers: dict[str, Provider] = {}
        self._swept = float("-inf")
        teach_vectors(connection)

    def tidy(self) -> None:
        """Take expired leases back and sweep up what a crash or a race left, now and then."""
        self.connection.execute("select grain.reap()")
        if time.monotonic() - self._swept >= SWEEP:
            self.connection.execute("select grain.sweep()")
            self._swept = time.monotonic()

    def drain(self, report: Callable[[Tally], None] = lambda tally: None) -> Tally:
        """Work until no job is due."""
        self.tidy()
        while not self.stop.is_set() and not self.tally.pipeline and self.step():
            report(self.tally)
        return self.tally

    def run(self, report: Callable[[Tally], None] = lambda tally: None) -> Tally:
        """Work until told to stop, looking at an empty queue every POLL seconds."""
        while not self.stop.is_set():
            self.tally.pipeline.clear()
            self.drain(report)
            self.stop.wait(POLL)
        return self.tally

    def step(self) -> bool:
        """Claim one batch and bring it to its end; false when nothing was due."""
        jobs = list(self._claim())
        for job in jobs:
            if job.kind == "chunk":
                self._split(job)
        waiting = sorted(
            (job for job in jobs if job.kind == "embed"), key=lambda job: job.model or ""
        )
        for model, group in groupby(waiting, key=lambda job: job.model or ""):
            self._embed(model, list(group))
        return bool(jobs)

    def _claim(self) -> Iterator[Job]:
        with self.connection.cursor(row_factory=namedtuple_row) as cursor:
            cursor.execute(
                "select * from grain.claim(%s, max_items => %s, max_tokens => %s,"
                " lease => make_interval(secs => %s))",
                [self.name, self.batch, self.tokens, self.lease],
            )
            for row in cursor:
                yield Job(*row)

    def _split(self, job: Job) -> None:
        try:
            self.connection.execute(
                "select grain.complete_chunk(%s, %s, %s)", [self.name, job.tenant_id, job.job_id]
            )
            self.tally.split += 1
        except psycopg.DatabaseError as error:
            said = error.diag.message_primary or str(error)
            self._fail([job], ProviderError("record", False, said))

    def _embed(self, model: str, jobs: list[Job]) -> None:
        texts = [job.input or "" for job in jobs]
        try:
            vectors, errors = embed_isolating(self._provider(model), texts)
        except ProviderError as error:
            self.tally.pipeline.append(f"model {model}: {error}")
            self._fail(jobs, error)
            return
        done = [(jobs[place], vector) for place, vector in vectors.items()]
        if done:
            self.connection.execute(
                "select grain.complete(%s, %s, %s, %b)",
                [
                    self.name,
                    [job.tenant_id for job, _ in done],
                    [job.job_id for job, _ in done],
                    [HalfVector(vector) for _, vector in done],
                ],
            )
            self.tally.embedded += len(done)
        for failure, places in groupby(errors, key=lambda place: errors[place]):
            self._fail([jobs[place] for place in places], failure)
            if failure.scope == "pipeline":
                self.tally.pipeline.append(f"model {model}: {failure}")

    def _fail(self, jobs: list[Job], error: ProviderError) -> None:
        log.warning("%s of %d jobs: %s", error.scope, len(jobs), error)
        self.connection.execute(
            "select grain.fail(%s, %s, %s, %s, %s, make_interval(secs => %s))",
            [
                self.name,
                [job.tenant_id for job in jobs],
                [job.job_id for job in jobs],
                f"{error.scope}-{'permanent' if error.permanent else 'temporary'}",
                str(error),
                error.retry_after,
            ],
        )
        self.tally.failed += len(jobs)

    def _provider(self, model: str) -> Provider:
        if model not in self._providers:
            with self.connection.cursor(row_factory=dict_row) as cursor:
                cursor.execute("select * from grain.models() where name = %s", [model])
                row = cursor.fetchone()
            if row is None:
                raise ProviderError("pipeline", True, "the model is no longer declared")
            self._providers[model] = make_provider(row)
        return self._providers[model]

    def backlog(self) -> int:
        """Jobs that are due or held."""
        row = self.connection.execute("select grain.backlog()").fetchone()
        return int(row[0]) if row else 0


def leave_on_signals(worker: Worker) -> None:
    """SIGTERM and SIGINT let the batch in hand end, then the worker leaves."""

    def leave(number: int, frame: FrameType | None) -> None:
        worker.stop.set()

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)


def wait_for_schema(
    dsn: str, stop: threading.Event, say: Callable[[str], None]
) -> Connection | None:
    """A connection to a database in which pg_grain is installed; None when told to stop first."""
    connection = connect(dsn)
    pause = 0.5
    while not stop.is_set():
        row = connection.execute("select to_regclass('grain.job') is not null").fetchone()
        if row and row[0]:
            return connection
        say("waiting for the schema grain (pg-grain install)")
        stop.wait(pause)
        pause = min(pause * 2, 10.0)
    return None
