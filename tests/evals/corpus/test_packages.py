from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.cli import app
from evals.corpus.archives import ArchiveError, read_files
from evals.corpus.filters import Limits
from evals.corpus.from_packages import PackageMiner, PackageOptions
from evals.corpus.licenses import is_permissive
from evals.corpus.lock import LockError, read_lock
from evals.corpus.records import load_records
from evals.corpus.registries import Registries
from service.embedded.training.sources import read_packages

SHIPPED = Path("evals/corpus/packages.toml")


def text(lines: int, change: int | None = None) -> bytes:
    return "".join(f"x_{line} = {line if line != change else -1}\n" for line in range(lines)).encode()


def tarball(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def wheel(folder: Path, version: str, files: dict[str, bytes]) -> Path:
    path = folder / f"redraft_tried-{version}-py3-none-any.whl"
    info = f"redraft_tried-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        metadata = f"Metadata-Version: 2.1\nName: redraft-tried\nVersion: {version}\n"
        archive.writestr(f"{info}/METADATA", f"{metadata}Requires-Python: <3\n")  # nothing of it is ever run
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def side(path: Path, version: str) -> str:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f'{{ version = "{version}", file = "{path.name}", sha256 = "{digest}" }}'


def lock(path: Path, registry: str, name: str, before: str, after: str, more: str = "") -> Path:
    path.write_text(
        f'[[pair]]\nregistry = "{registry}"\nname = "{name}"\nlicense = "MIT"\n{more}\n'
        f"before = {before}\nafter = {after}\n"
    )
    return path


# ---- what is shipped ----


def test_the_shipped_pairs_are_permissive_and_none_was_trained_on() -> None:
    pairs = read_lock(SHIPPED)
    trained = {(package.registry, package.name.lower().replace("_", "-")) for package in read_packages()}
    assert len(trained) > 50
    assert not {(pair.registry, pair.name.lower().replace("_", "-")) for pair in pairs} & trained
    assert [pair.name for pair in pairs if not is_permissive(pair.license)] == []


def test_the_datasheet_is_that_of_the_shipped_lock_file() -> None:
    page = (SHIPPED.parent / "DATASHEET.md").read_text()
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() in page
    rows = [line.split("|") for line in page.split("## Edits by language")[1].splitlines() if line.startswith("| ")]
    counts = {row[1].strip(): int(row[2]) for row in rows[2:] if row[2].strip().isdigit()}
    assert counts["all"] >= 300
    enough = {name for name, count in counts.items() if name != "all" and count >= 12}
    assert len(enough) >= 12
    assert {"python", "typescript", "javascript", "go", "rust", "java", "c", "cpp", "csharp"} <= enough


# ---- lock files ----


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('registry = "npm"', 'registry = "other"', "registry must be one of pypi, npm"),
        ('name = "some"', 'name = "git+https://host/x"', "name is missing or has the wrong form"),
        ('name = "some"', 'name = "--flag"', "name is missing"),
        ('version = "1.0.0"', 'version = "file:../x"', "version is missing or has the wrong form"),
        ('file = "some-1.tgz"', 'file = "../some-1.tgz"', "file is missing or has the wrong form"),
        ('license = "MIT"', 'license = "free"', "license must be an SPDX expression"),
        ('license = "MIT"', 'license = "MIT"\nstars = 1', "there is no stars"),
        ('license = "MIT"', 'license = "MIT"\nlanguages = ["py"]', "there is no language py"),
        ('license = "MIT"', 'license = "MIT"\nexclude = "lib/"', "exclude must be a list of strings"),
        ("[[pair]]", "[pair]", r"has no \[\[pair\]\]"),
        ("[[pair]]", "[[", "is not TOML"),
    ],
)
def test_a_lock_file_that_cannot_be_used(tmp_path: Path, old: str, new: str, message: str) -> None:
    one = '{ version = "1.0.0", file = "some-1.tgz", sha256 = "' + "0" * 64 + '" }'
    path = lock(tmp_path / "lock.toml", "npm", "some", one, one)
    assert read_lock(path)[0].name == "some"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(LockError, match=message):
        read_lock(path)


# ---- archives ----


def everything(path: Path, max_bytes: int = 1000) -> dict[str, bytes]:
    return read_files(path, lambda name: name.endswith(".py"), max_bytes)


def test_only_regular_files_inside_the_package_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("package/a.py", "package/sub/b.py", "package/../c.py", "/etc/d.py", "e.py", "package/f.txt"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            member = tarfile.TarInfo(f"package/link{kind.decode()}.py")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("package/large.py")
        member.size = 2000
        archive.addfile(member, io.BytesIO(b"x" * 2000))
    assert everything(path) == {"a.py": b"x", "sub/b.py": b"x"}
    zipped = tmp_path / "a.whl"
    with zipfile.ZipFile(zipped, "w") as archive_:
        for name in ("a.py", "../c.py", "/d.py", "x\\y.py"):
            archive_.writestr(name, b"x")
        archive_.writestr("large.py", b"x" * 2000)
    assert everything(zipped) == {"a.py": b"x"}


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.corpus.archives.MAX_UNPACKED_BYTES", 1_000_000)
    monkeypatch.setattr("evals.corpus.archives.MAX_MEMBERS", 50)
    large = tarball(tmp_path / "a.tgz", {f"{n}.txt": bytes(400_000) for n in range(3)})
    many = tarball(tmp_path / "b.tgz", {f"{n}.txt": b"" for n in range(60)})
    for path in (large, many):
        with pytest.raises(ArchiveError, match=r"^[ab]\.tgz holds more than 50 files or 1000000 bytes"):
            everything(path)


@pytest.mark.parametrize("name", ["a.tgz", "a.whl"])
def test_a_damaged_archive_is_named(tmp_path: Path, name: str) -> None:
    whole = (
        tarball(tmp_path / "whole.tgz", {"a.py": text(3000)})
        if name == "a.tgz"
        else wheel(tmp_path, "1", {"a.py": text(3)})
    )
    path = tmp_path / name
    path.write_bytes(whole.read_bytes()[:-300])
    with pytest.raises(ArchiveError, match=rf"^{name} is damaged"):
        everything(path)


# ---- the registries' own clients ----


@pytest.fixture
def offline_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip finds packages in this folder and nowhere else, as its configuration says."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def pypi_lock(tmp_path: Path, folder: Path) -> Path:
    before = wheel(folder, "1.0", {"a.py": text(30), "b.py": text(30), "same.py": text(30), "gone.py": text(30)})
    after = wheel(folder, "1.1", {"a.py": text(30, 3), "b.py": text(30, 4), "same.py": text(30), "new.py": text(30)})
    return lock(tmp_path / "lock.toml", "pypi", "redraft-tried", side(before, "1.0"), side(after, "1.1"))


def mine(path: Path, cache: Path, options: PackageOptions | None = None) -> PackageMiner:
    miner = PackageMiner(
        read_lock(path), Registries(cache), options or PackageOptions(Limits()), lambda what, done, total: None
    )
    miner.run()
    return miner


def test_edits_between_two_wheels_and_kept_archives(tmp_path: Path, offline_pip: Path) -> None:
    path = pypi_lock(tmp_path, offline_pip)
    first = mine(path, tmp_path / "cache")
    assert not first.failed
    assert {record.path: (record.before, record.after) for record in first.records} == {
        "a.py": (text(30).decode(), text(30, 3).decode()),
        "b.py": (text(30).decode(), text(30, 4).decode()),
    }
    record = next(record for record in first.records if record.path == "a.py")
    assert (record.id, record.repo, record.commit, record.license, record.instruction) == (
        "pypi:redraft-tried@1.0..1.1:a.py", "pypi:redraft-tried", "1.0..1.1", "MIT", "",
    )  # fmt: skip
    for kept in offline_pip.iterdir():
        kept.unlink()
    assert mine(path, tmp_path / "cache").records == first.records  # nothing is fetched twice
    assert len(mine(path, tmp_path / "cache", PackageOptions(Limits(), per_language=1)).records) == 1
    failed = mine(path, tmp_path / "other cache")
    assert failed.records == []
    assert (
        "redraft-tried 1.0 (redraft_tried-1.0-py3-none-any.whl) could not be fetched"
        in failed.failed["pypi:redraft-tried"]
    )


def test_another_archive_than_the_pinned_one_is_refused(tmp_path: Path, offline_pip: Path) -> None:
    path = pypi_lock(tmp_path, offline_pip)
    wheel(offline_pip, "1.1", {"a.py": text(30, 5)})
    assert "could not be fetched" in mine(path, tmp_path / "cache").failed["pypi:redraft-tried"]  # pip checks the hash
    pypi_lock(tmp_path, offline_pip)
    assert not mine(path, tmp_path / "cache").failed
    for kept in (tmp_path / "cache").glob("*/*1.1*"):
        kept.write_bytes(b"damaged on disk")
    assert "is pinned: it is another archive, or damaged" in mine(path, tmp_path / "cache").failed["pypi:redraft-tried"]


def test_the_command(tmp_path: Path, offline_pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, out, sheet = pypi_lock(tmp_path, offline_pip), tmp_path / "edits.jsonl.gz", tmp_path / "sheet.md"
    command = ["corpus", "packages", str(path), "--out", str(out), "--datasheet", str(sheet)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert len(load_records(out)) == 2
    assert hashlib.sha256(path.read_bytes()).hexdigest() in sheet.read_text()
    assert "None of the packages is among those" in sheet.read_text()
    path.write_text(
        path.read_text() + path.read_text().replace("redraft-tried", "not-there").replace("redraft_tried", "x")
    )
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert "pypi:not-there" in done.output
    assert len(load_records(out)) == 2
    path.write_text("x = ")
    assert CliRunner().invoke(app, command).exit_code == 2


class _Npm(http.server.BaseHTTPRequestHandler):
    files: dict[str, bytes]

    def do_GET(self) -> None:
        content = self.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.end_headers()
        self.wfile.write(content or b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def npm_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """path -> answer, of the registry that npm is configured to use."""
    files: dict[str, bytes] = {}
    handler = type("Handler", (_Npm,), {"files": files})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm cache"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    files["address"] = f"http://127.0.0.1:{server.server_port}".encode()
    yield files
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.node
def test_npm_fetches_from_the_registry_that_it_is_configured_for(
    tmp_path: Path, npm_registry: dict[str, bytes]
) -> None:
    sides, versions = [], {}
    for version, change in (("1.0.0", None), ("1.1.0", 3)):
        manifest = {"name": "redraft-tried", "version": version, "scripts": {"prepare": "exit 7", "prepack": "exit 7"}}
        files = {
            "package.json": json.dumps(manifest).encode(),
            "src/a.js": text(30, change),
            "lib/a.js": text(30, change),
        }
        path = tarball(tmp_path / f"redraft-tried-{version}.tgz", files)
        data = path.read_bytes()
        npm_registry[f"/{path.name}"] = data
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        address = f"{npm_registry['address'].decode()}/{path.name}"
        versions[version] = manifest | {"dist": {"tarball": address, "integrity": integrity}}
        sides.append(side(path, version))
    document = {"name": "redraft-tried", "dist-tags": {"latest": "1.1.0"}, "versions": versions}
    npm_registry["/redraft-tried"] = json.dumps(document).encode()
    path = lock(tmp_path / "lock.toml", "npm", "redraft-tried", sides[0], sides[1], more='exclude = ["lib/"]')
    miner = mine(path, tmp_path / "cache")
    assert miner.failed == {}
    assert [record.path for record in miner.records] == ["src/a.js"]
