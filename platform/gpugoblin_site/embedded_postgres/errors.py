"""What can go wrong with an embedded PostgreSQL."""


class EmbeddedPostgresError(RuntimeError):
    """The embedded PostgreSQL cannot be used; the message says why and what to do."""


class DatabaseInUse(EmbeddedPostgresError):
    """Another process runs the PostgreSQL of this data folder."""
