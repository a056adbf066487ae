"""Secrets of a lab node: its signing key, the key of its blob ids, the control key, its token."""

from __future__ import annotations

import datetime
import ipaddress
import secrets as chance
from urllib.parse import urlsplit

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import Struct

from goblin_labnode.config import ConfigError, Folder, write_private
from goblin_wire.blobs import KEY_BYTES
from goblin_wire.capability import SigningKey

_CERTIFICATE_YEARS = 20


class Secrets(Struct, kw_only=True):
    """`secrets.json`, mode 0600. Keys are hexadecimal."""

    token: str
    """The lab's API token at the site."""
    signing_key: str
    blob_key: str
    id_key: str
    """Makes the ids of jobs, units and arrays; volunteers never see it."""

    @classmethod
    def generate(cls, token: str) -> Secrets:
        return cls(
            token=token,
            signing_key=SigningKey.generate().to_bytes().hex(),
            blob_key=chance.token_hex(KEY_BYTES),
            id_key=chance.token_hex(KEY_BYTES),
        )

    def signer(self) -> SigningKey:
        return SigningKey.from_bytes(bytes.fromhex(self.signing_key))

    @property
    def blob_key_bytes(self) -> bytes:
        return bytes.fromhex(self.blob_key)

    @property
    def id_key_bytes(self) -> bytes:
        return bytes.fromhex(self.id_key)


def load_secrets(folder: Folder) -> Secrets:
    """Raises `ConfigError`."""
    try:
        return msgspec.json.decode(folder.secrets.read_bytes(), type=Secrets)
    except (msgspec.DecodeError, OSError) as error:
        raise ConfigError(f"{folder.secrets} cannot be read: {error}") from None


def save_secrets(folder: Folder, secrets: Secrets) -> None:
    write_private(folder.secrets, msgspec.json.encode(secrets))


def make_control_key(folder: Folder) -> None:
    """The key that programs on this machine show to the control listener."""
    write_private(folder.control_key, chance.token_urlsafe(32).encode("ascii"))


def load_control_key(folder: Folder) -> str:
    """Raises `ConfigError`."""
    try:
        return folder.control_key.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{folder.control_key} cannot be read: {error}") from None


def make_certificate(folder: Folder, endpoint: str) -> None:
    """A self-signed certificate for the data listener; clients pin its SHA-256."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key, urlsplit(endpoint).hostname or "localhost")
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private(folder.certificate_key, private)
    write_private(folder.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def certificate_digest(folder: Folder) -> str:
    """SHA-256 of the certificate (DER), in hexadecimal."""
    certificate = x509.load_pem_x509_certificate(folder.certificate.read_bytes())
    return certificate.fingerprint(hashes.SHA256()).hex()


def _certificate(key: ec.EllipticCurvePrivateKey, host: str) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpugoblin lab node")])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365 * _CERTIFICATE_YEARS))
        .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
