"""Keys and secrets of the site: files of the state directory, made on first use, mode 0600.

None of them is in the database, so a copy of the database signs nothing. Site keys lie in
`site-keys/` as `<unix seconds>-<key id>`; the newest signs, the newest two are valid.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
import time
from functools import lru_cache
from pathlib import Path

from goblin_wire.capability import SigningKey

SECRET_BYTES = 32
VALID_SITE_KEYS = 2

_directory = Path(".data/site")


class UnsafeKeyFile(Exception):
    """A key file can be read by others, or does not hold a key."""


def configure(directory: Path) -> None:
    """Use the key files of this state directory from now on."""
    global _directory
    if directory != _directory:
        _directory = directory
        forget()


def forget() -> None:
    """Read the files again at the next use (after a rotation, or in tests)."""
    for cached in (signing_key, site_keys, _secret):
        cached.cache_clear()


def directory() -> Path:
    """The state directory, made with mode 0700 if it was absent."""
    _directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _directory


def django_secret() -> str:
    return _secret("django-secret").hex()


def ticket_secret() -> bytes:
    """32 bytes: signs the tickets of the waiting process."""
    return _secret("ticket-secret")


def pseudonym_secret() -> bytes:
    """32 bytes: from it come the per-lab pseudonyms of volunteers."""
    return _secret("pseudonym-secret")


def address_secret() -> bytes:
    """32 bytes: hides codes and addresses in the tables that only compare them."""
    return _secret("address-secret")


def factor_secret() -> bytes:
    """32 bytes: encrypts the secrets of second factors in the database."""
    return _secret("factor-secret")


@lru_cache(maxsize=1)
def signing_key() -> SigningKey:
    """The key that signs capabilities now."""
    return _site_key_files()[-1]


@lru_cache(maxsize=1)
def site_keys() -> dict[str, str]:
    """Key id -> raw public key (hexadecimal), of every key that is valid now."""
    return {key.kid: key.public for key in _site_key_files()[-VALID_SITE_KEYS:]}


def rotate_site_key() -> SigningKey:
    """Add a new site key; it signs once the processes have been restarted."""
    key = SigningKey.generate()
    _write_new(_key_folder() / f"{time.time_ns():020d}-{key.kid}", key.to_bytes())
    forget()
    return key


def _key_folder() -> Path:
    folder = directory() / "site-keys"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _site_key_files() -> list[SigningKey]:
    if not _site_key_paths():
        _write_new(_key_folder() / f"{0:020d}-first", SigningKey.generate().to_bytes())
    return [SigningKey.from_bytes(_read(path)) for path in _site_key_paths()]


def _site_key_paths() -> list[Path]:
    """The oldest first; names with a dot are being written."""
    return sorted(path for path in _key_folder().iterdir() if not path.name.startswith("."))


@lru_cache(maxsize=8)
def _secret(name: str) -> bytes:
    path = directory() / name
    if not path.exists():
        _write_new(path, secrets.token_bytes(SECRET_BYTES))
    return _read(path)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UnsafeKeyFile(f"{path} can be read by others: chmod 600 it, or replace the key.")
        content = file.read(SECRET_BYTES + 1)
    if len(content) != SECRET_BYTES:
        raise UnsafeKeyFile(f"{path} does not hold {SECRET_BYTES} bytes.")
    return content


def _write_new(path: Path, content: bytes) -> None:
    """Make the file whole or not at all; where another process was quicker, its content stays."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()
