"""Credentials sources over the official `kubernetes` package, with what it leaves out.

Each load reads everything again into a fresh Configuration: token files, service account
tokens, certificates, exec plugins. That is how rotated credentials reach a process that lives
for months. The package's own refresh covers tokens of exec plugins only.
"""

# mypy: allow-untyped-calls
# (the package's asyncio half has no annotations)

import asyncio
import base64
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import yaml
from kubernetes.aio import config
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import FileOrData, KubeConfigLoader, KubeConfigMerger

from global_sched.shared.api import yaml_text
from global_sched.shared.clock import Clock
from global_sched.shared.kube.acting import impersonation
from global_sched.shared.kube.connection import Access
from global_sched.shared.kube.errors import ConfigError
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant

TOKEN_FRESH_FOR = 60.0
"""Seconds after which token files and certificate files are read again."""
EXEC_TIMEOUT = 60.0
"""Seconds that an exec plugin may take."""
EXPIRY_MARGIN = 120.0
"""Seconds before its expiry at which an exec credential is renewed."""

_BROKEN = (
    config.ConfigException,
    OSError,  # files, and ssl.SSLError
    ValueError,  # base64, PEM, numbers
    TypeError,
    KeyError,
    AttributeError,  # the package meets None where the file has nothing
    yaml.YAMLError,
)


class _Loader(KubeConfigLoader):
    """The package's loader, with exec credentials that fail loudly and remember their expiry."""

    exec_expires: str | None = None

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin; a token or a certificate with its key."""
        user: Any = self._user
        try:
            async with asyncio.timeout(EXEC_TIMEOUT):
                status: dict[str, Any] = await ExecProvider(user["exec"]).run()
        except TimeoutError as error:
            raise config.ConfigException(
                f"the exec plugin {user['exec']['command']} did not end within {EXEC_TIMEOUT:g} s"
            ) from error
        self.exec_expires = status.get("expirationTimestamp")
        if "token" in status:
            self.token = f"Bearer {status['token']}"
            return True
        if "clientCertificateData" in status and "clientKeyData" in status:
            self.cert_file = self._pem(status, "clientCertificateData")
            self.key_file = self._pem(status, "clientKeyData")
            return True
        raise config.ConfigException(
            "the exec plugin returned neither a token nor a certificate with its key"
        )

    def _pem(self, status: dict[str, Any], key: str) -> str:
        made: str = FileOrData(
            status,
            None,
            data_key_name=key,
            base64_file_content=False,
            temp_file_path=self._temp_file_path,
        ).as_file()
        return made


class _Tls:
    """The TLS context of the last load, kept while its files are the same.

    A new context means new connections; most loads change only a token.
    """

    def __init__(self) -> None:
        self._print: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None

    def of(self, cfg: Any) -> ssl.SSLContext | None:
        if not cfg.host.startswith("https"):
            return None
        files = (cfg.ssl_ca_cert, cfg.cert_file, cfg.key_file)
        contents = tuple(Path(file).read_bytes() if file else b"" for file in files)
        fingerprint = (*contents, cfg.verify_ssl)
        if fingerprint != self._print:
            # Strict X.509 checks (Python 3.13's default) refuse CAs that kubeadm and k3s make.
            cfg.disable_strict_ssl_verification = True
            self._context = RESTClientObject(cfg).ssl_context
            self._print = fingerprint
        return self._context


class KubeconfigSource:
    """Reads kubeconfig files; the first one that says something wins, as with kubectl."""

    def __init__(self, paths: tuple[Path, ...], context: str | None, *, clock: Clock) -> None:
        self._clock = clock
        self._paths = paths
        self._context = context
        self._tls = _Tls()

    @property
    def _name(self) -> str:
        return ":".join(map(str, self._paths))

    async def load(self) -> Access:
        """Read the files again and run the exec plugin, if there is one.

        Raises:  ConfigError.
        """
        cfg = type.__call__(Configuration)  # past the package's process-wide default
        try:
            self._check_files()
            merged = KubeConfigMerger(":".join(map(str, self._paths))).config
            loader = _Loader(config_dict=merged, active_context=self._context)
            await loader.load_and_set(cfg)
            if not str(cfg.host).startswith(("http://", "https://")):
                raise ConfigError(
                    f"kubeconfig {self._name}: server {cfg.host!r} is not an http(s) address"
                )
            user = loader._user  # noqa: SLF001 - the package has no public view of the entries
            if user is None:
                self._check_no_user(loader)
            return Access(
                server=_address(cfg.host),
                authorization=await _authorization(cfg) or _basic(cfg.host),
                acting=impersonation(user.value) if user else (),
                tls=self._tls.of(cfg),
                unverified=self._unverified(loader, cfg),
                server_hostname=cfg.tls_server_name or None,
                proxy=cfg.proxy or None,
                namespace=_namespace(loader),
                fresh_for=_fresh_for(loader, self._clock),
            )
        except _BROKEN as error:
            text = f"kubeconfig {self._name} cannot be used: {_words(error)}"
            raise ConfigError(f"{text}; check it with `kubectl config view`") from error

    def _check_no_user(self, loader: _Loader) -> None:
        """A context may leave the user out, but not name one that is not there."""
        context: Any = loader._current_context  # noqa: SLF001 - as above
        name = context["context"].safe_get("user")
        if name:
            raise ConfigError(
                f"kubeconfig {self._name}: its context {context['name']!r} names the user "
                f"{name!r}, which has no entry in users: add one with `kubectl config "
                "set-credentials`, or name another context"
            )

    def _unverified(self, loader: _Loader, cfg: Any) -> str:
        """Why nothing proves that it is the right server that answers."""
        server = _address(cfg.host)
        if server.startswith("https"):
            if cfg.verify_ssl:
                return ""
            cause = f"has insecure-skip-tls-verify: the certificate of {server} is not checked"
            way_out = "certificate-authority or certificate-authority-data instead"
        else:
            if _is_loopback(server):
                return ""
            cause = f"names {server}: nothing is encrypted"
            way_out = "an https address"
        context: Any = loader._current_context  # noqa: SLF001 - as above
        entry = context["context"]["cluster"]
        return (
            f"kubeconfig {self._name}: its cluster entry {entry!r} {cause}, so that any server on "
            f"the way can take the credentials and answer in its place; give the entry {way_out}"
        )

    def _check_files(self) -> None:
        for path in self._paths:
            if not path.is_file():
                raise ConfigError(f"kubeconfig {path} does not exist or is not a file")
            try:
                content = yaml_text.read(path.read_text())
            except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
                raise ConfigError(f"kubeconfig {path} cannot be read: {_words(error)}") from error
            if not isinstance(content, dict):
                raise ConfigError(f"kubeconfig {path} is empty or not a kubeconfig")
            self._check_context(path, content)

    def _check_context(self, path: Path, content: dict[str, Any]) -> None:
        if len(self._paths) > 1:
            return  # the context may be in another of the files
        names = [str(entry.get("name")) for entry in content.get("contexts") or ()]
        wanted = self._context or content.get("current-context")
        if not names:
            raise ConfigError(
                f"kubeconfig {path} has no contexts: add one with `kubectl config set-context`, "
                "or name another file"
            )
        if not wanted:
            raise ConfigError(
                f"kubeconfig {path} has no current-context: choose one of {', '.join(names)}"
            )
        if wanted not in names:
            raise ConfigError(
                f"kubeconfig {path} has no context {wanted!r}; it has {', '.join(names)}"
            )


class InClusterSource:
    """The service account of the pod that we run in."""

    def __init__(self) -> None:
        self._tls = _Tls()

    async def load(self) -> Access:
        """Read the mounted token and CA again; the kubelet rotates the token.

        Raises:  ConfigError.
        """
        cfg = type.__call__(Configuration)
        try:
            config.load_incluster_config(client_configuration=cfg, try_refresh_token=False)
            return Access(
                server=cfg.host.rstrip("/"),
                authorization=await _authorization(cfg),
                tls=self._tls.of(cfg),
                fresh_for=TOKEN_FRESH_FOR,
            )
        except _BROKEN as error:
            raise ConfigError(
                f"no in-cluster credentials: {_words(error)}; outside a pod, pass --kubeconfig FILE"
            ) from error


async def _authorization(cfg: Any) -> str:
    """The Authorization header; files end in newlines, headers must not."""
    settings = await cfg.auth_settings()
    return next((str(entry["value"]).strip() for entry in settings.values()), "")


def _namespace(loader: _Loader) -> str:
    """What the context in use names; kubectl takes `default` where it names none."""
    context: Any = loader._current_context  # noqa: SLF001 - as above
    return str(context["context"].safe_get("namespace") or "")


def _address(host: str) -> str:
    """The server without the credentials that may stand in its address."""
    parts = urlsplit(host)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _is_loopback(server: str) -> bool:
    """Whether it is on this machine, so that nothing is on the way."""
    name = urlsplit(server).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _basic(host: str) -> str:
    """The credentials in the server's address, for a user that has no others."""
    parts = urlsplit(host)
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _fresh_for(loader: _Loader, clock: Clock) -> float | None:
    user = loader._user or {}  # noqa: SLF001 - the package has no public view of the user entry
    if "exec" in user:
        if loader.exec_expires is None:
            return None
        try:
            expires = parse_instant(loader.exec_expires)
        except InstantError:
            return TOKEN_FRESH_FOR
        left = (expires - clock.now()) / SECOND
        return max(10.0, left - EXPIRY_MARGIN)
    files = ("tokenFile", "client-certificate", "auth-provider")
    return TOKEN_FRESH_FOR if any(key in user for key in files) else None


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:400] or type(error).__name__
