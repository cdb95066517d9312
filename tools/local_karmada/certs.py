"""One certificate authority per federation: servers, clients, and the keys of account tokens."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from global_sched.shared.clock import SystemClock
from global_sched.shared.model.instant import SECOND

_YEAR: Final = dt.timedelta(days=365)
_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    "karmada-aggregated-apiserver.karmada-system.svc",
    "karmada-webhook.karmada-system.svc",
    "*.karmada-system.svc",
    "*.karmada-system.svc.cluster.local",
)
"""What any server of the federation is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The files of a certificate and its key."""

    cert: Path
    key: Path


class Authority:
    """Certificates below one folder; what is there already is used again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.ca = Pair(cert=folder / "ca.crt", key=folder / "ca.key")
        if not self._there(self.ca):
            self._make_authority()
        self._key = serialization.load_pem_private_key(self.ca.key.read_bytes(), None)
        self._cert = x509.load_pem_x509_certificate(self.ca.cert.read_bytes())

    def server(self) -> Pair:
        """The certificate that every server of the federation shows on loopback."""
        return self._issued("server", "global-sched-local", (), server=True)

    def client(self, user: str, groups: Sequence[str] = ()) -> Pair:
        """The certificate of a user: the common name, and a group per organization."""
        file = user.replace("/", "_").replace(":", "_")
        if groups:
            file += "-" + "-".join(groups).replace("/", "_").replace(":", "_")
        return self._issued(file, user, groups, server=False)

    def account_keys(self) -> Pair:
        """The key pair that signs tokens of ServiceAccounts: public part, private part."""
        pair = Pair(cert=self.folder / "accounts.pub", key=self.folder / "accounts.key")
        if not self._there(pair):
            key = ec.generate_private_key(ec.SECP256R1())
            public = key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            self._write(pair, public, key)
        return pair

    @staticmethod
    def _there(pair: Pair) -> bool:
        return pair.cert.is_file() and pair.key.is_file()

    def _make_authority(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("global-sched-local-ca", ())
        builder = _builder(name, name, key.public_key(), 10 * _YEAR)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        builder = builder.add_extension(_usage(signs_certificates=True), True)
        cert = builder.sign(key, hashes.SHA256())
        self._write(self.ca, cert.public_bytes(serialization.Encoding.PEM), key)

    def _issued(self, file: str, user: str, groups: Sequence[str], *, server: bool) -> Pair:
        pair = Pair(cert=self.folder / f"{file}.crt", key=self.folder / f"{file}.key")
        if self._there(pair):
            return pair
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(user, groups), self._cert.subject, key.public_key(), _YEAR)
        builder = builder.add_extension(_usage(signs_certificates=False), True)
        use = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), False)
        if server:
            names: list[x509.GeneralName] = [x509.DNSName(one) for one in _NAMES]
            addresses = ("127.0.0.1", "10.96.0.1")
            names += [x509.IPAddress(ipaddress.ip_address(one)) for one in addresses]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        assert isinstance(self._key, ec.EllipticCurvePrivateKey)
        cert = builder.sign(self._key, hashes.SHA256())
        self._write(pair, cert.public_bytes(serialization.Encoding.PEM), key)
        return pair

    @staticmethod
    def _write(pair: Pair, public: bytes, key: ec.EllipticCurvePrivateKey) -> None:
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        # The key first: a pair with both files is whole.
        pair.key.touch(mode=0o600)
        pair.key.write_bytes(secret)
        pair.cert.write_bytes(public)


def _name(user: str, groups: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    life: dt.timedelta,
) -> x509.CertificateBuilder:
    seconds = SystemClock().now() / SECOND
    # An hour back: clocks of one machine agree, but second boundaries do not.
    start = dt.datetime.fromtimestamp(seconds, dt.UTC) - dt.timedelta(hours=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + life)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
