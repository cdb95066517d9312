"""A certificate for servers on loopback: kubectl sends a token over TLS only, never over HTTP."""

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from global_sched.embedded.extra import needs_demo_extra
from global_sched.shared.model.instant import SECOND, Instant

with needs_demo_extra():
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_FILE: Final = "tls.pem"
_LIFE: Final = dt.timedelta(days=3650)
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """What a server shows, and the authority (PEM) that its clients have to trust."""

    server: ssl.SSLContext
    authority: str


def loopback_tls(folder: Path, now: Instant) -> Tls:
    """The certificate in a folder, made there on first use: one state, one authority.

    The file is readable by its owner only: server key, server certificate, authority. The
    authority's own key is not kept, so that nothing else can ever be signed with it.
    """
    path = folder / _FILE
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_bytes(_made(now))
        fresh.rename(path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    last = path.read_text(encoding="ascii").rpartition(_BEGIN)[2]
    return Tls(server=context, authority=_BEGIN + last)


def _made(now: Instant) -> bytes:
    """A key, its certificate and the authority that signed it, as PEM."""
    start = dt.datetime.fromtimestamp(now / SECOND, dt.UTC) - dt.timedelta(hours=1)
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_id = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    issuer = _name("global-sched-embedded-ca")

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + _LIFE)
        )

    authority = (
        builder(issuer, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(ca_id, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    shown = (
        builder(_name("global-sched-embedded"), key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ca_id), critical=False
        )
        .sign(ca_key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = serialization.Encoding.PEM
    return secret + shown.public_bytes(pem) + authority.public_bytes(pem)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
