"""pg_grain: the loader, the commands and the artifact of the Postgres package of that name."""
