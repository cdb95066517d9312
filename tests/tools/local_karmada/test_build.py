"""Programs come from PATH when they are of the right version, else from the cache, else built."""

import os

import pytest

from tools.local_karmada import build, golang
from tools.local_karmada.errors import LocalError
from tools.local_karmada.tools import ETCD, KUBERNETES, Upstream, karmada


def script(path, text):
    """An executable that prints something."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{text}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param("Kubernetes v1.35.4", True, id="the version itself"),
        pytest.param("Kubernetes v1.35.40", False, id="a longer number"),
        pytest.param("Kubernetes v11.35.4", False, id="another major version"),
        pytest.param("Client Version: v1.32.4-dispatcher", False, id="an older one"),
    ],
)
def test_versions(said, want):
    """A program's answer names the version, as a whole."""
    assert KUBERNETES.names_itself_in(said) is want


@pytest.mark.parametrize(
    ("version", "found"),
    [
        pytest.param("3.6.16", True, id="the right version on PATH is used"),
        pytest.param("3.5.0", False, id="another version on PATH is not"),
    ],
)
def test_path_is_looked_at_first(tmp_path, monkeypatch, version, found):
    """Only the right version counts; a wrong one is as good as none."""
    program = script(tmp_path / "path" / "etcd", f"etcd Version: {version}")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(golang, "find", no_go)
    if found:
        assert build.programs([ETCD], say=print, cache=tmp_path / "c") == {"etcd": program}
    else:
        with pytest.raises(LocalError, match="no Go here"):
            build.programs([ETCD], say=print, cache=tmp_path / "c")


@pytest.mark.parametrize(
    ("version", "used"),
    [
        pytest.param("3.6.16", "path", id="the right version on PATH comes before it"),
        pytest.param("3.5.0", "cache", id="another version on PATH does not"),
    ],
)
def test_what_was_built_is_used_where_path_has_nothing(tmp_path, monkeypatch, version, used):
    """PATH is looked at first, even when the program has been built before."""
    cache = tmp_path / "c"
    where = {
        "cache": script(build.folder_of(ETCD, cache) / "etcd", "etcd Version: 3.6.16"),
        "path": script(tmp_path / "path" / "etcd", f"etcd Version: {version}"),
    }
    monkeypatch.setenv("PATH", f"{where['path'].parent}:{os.environ['PATH']}")
    assert build.programs([ETCD], say=print, cache=cache) == {"etcd": where[used]}


def test_assets_are_looked_at(tmp_path, monkeypatch):
    """KUBEBUILDER_ASSETS names a folder of programs, too."""
    program = script(tmp_path / "assets" / "etcd", "etcd Version: 3.6.16")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(program.parent))
    assert build.programs([ETCD], say=print, cache=tmp_path / "c") == {"etcd": program}


def no_go(cache):
    """What `find` says on a machine without Go."""
    raise LocalError(f"no Go here, nothing in {cache}")


def test_what_was_built_is_kept(tmp_path, monkeypatch):
    """The second call builds nothing; another pin or flag would have another folder."""
    go = script(
        tmp_path / "go",
        "go version go1.26.8",
    )
    go.write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        'printf "#!/bin/sh\\necho 3.6.16\\n" > "$2"; chmod +x "$2"\n'
    )
    monkeypatch.setattr(golang, "find", lambda _: go)
    said = []
    first = build.programs([ETCD], say=said.append, cache=tmp_path / "c")
    assert [one.partition(" ")[0] for one in said] == ["building", "built"]
    monkeypatch.setattr(golang, "find", no_go)
    assert build.programs([ETCD], say=said.append, cache=tmp_path / "c") == first
    assert len(said) == 2
    other = build.folder_of(karmada("1.17.1"), tmp_path)
    assert other != build.folder_of(karmada("1.18.2"), tmp_path)


def test_half_a_build_is_none(tmp_path, monkeypatch):
    """What an interrupted build left is not a program, and does not stand in the way."""
    folder = build.folder_of(ETCD, tmp_path)
    folder.mkdir(parents=True)
    (folder / ".etcd.unfinished").write_text("half")
    go = script(tmp_path / "go", "")
    go.write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        'printf "#!/bin/sh\\necho 3.6.16\\n" > "$2"; chmod +x "$2"\n'
    )
    monkeypatch.setattr(golang, "find", lambda _: go)
    found = build.programs([ETCD], say=print, cache=tmp_path)
    assert found["etcd"].parent == folder
    assert not (folder / ".etcd.unfinished").exists()


def test_a_failed_build_says_why(tmp_path, monkeypatch):
    """The last line of the compiler, where all of it is, and what may be missing."""
    go = script(tmp_path / "go", "")
    go.write_text("#!/bin/sh\necho 'dial tcp: no route to host' >&2; exit 1\n")
    monkeypatch.setattr(golang, "find", lambda _: go)
    with pytest.raises(LocalError, match=r"etcd 3.6.16 cannot be built: dial tcp: no route .*GOP"):
        build.programs([ETCD], say=print, cache=tmp_path)


def test_an_old_go_is_told(tmp_path, monkeypatch):
    """The message names what was found and how to get a newer one."""
    go = script(tmp_path / "go", "go version go1.21.0 linux/amd64")
    monkeypatch.setattr(golang, "_candidates", lambda _: [go])
    monkeypatch.setattr(golang.sys, "executable", "/bin/false")
    with pytest.raises(LocalError, match=r"go is 1.21.*could not be fetched.*go.dev/dl"):
        golang.find(tmp_path)


def test_every_module_pins_what_it_builds():
    """Each upstream has a folder with pins and no Go code, and its go.mod names every tool."""
    for upstream in (*_all(), karmada("1.17.1")):
        files = {one.name for one in upstream.folder.iterdir()}
        assert files == {"go.mod", "go.sum"}
        pins = (upstream.folder / "go.mod").read_text()
        assert f"{upstream.source} v{upstream.version}" in pins
        for package in upstream.packages.values():
            assert package in pins


def _all() -> tuple[Upstream, ...]:
    from tools.local_karmada.tools import upstreams  # noqa: PLC0415 - next to its one use

    return upstreams("1.18.2")
