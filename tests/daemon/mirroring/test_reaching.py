"""How a remote is reached: with the user's own git, never asking, and never by an address that does something else."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from backtrail.errors import DaemonStopping, UsageError
from backtraild.mirroring import MirrorFailed, mirror
from backtraild.mirroring.remote import shown
from support.commands import is_alive
from support.git import git
from support.mirrors import push, refs, script
from support.project import Project
from support.watching import eventually


@pytest.mark.parametrize(
    "remote",
    [
        "",
        "backup",
        "./backup.git",
        "-",
        "--receive-pack=touch ran;",
        "-oProxyCommand=touch ran:x",
        "ssh://-oProxyCommand=touch ran/x",
        "ext::sh -c touch% ran",
        "foo::bar",
        "http://example.org/x.git",
        "git://example.org/x.git",
        "EXT::x",
        "host:a\nb",
        "host:a\0b",
        "/a\0b",
        "https://",
    ],
)
def test_what_is_no_address_of_a_repository_is_not_given_to_git(remote: str):
    """It could be an option, name a program to be run, or send files in the clear."""
    with pytest.raises(UsageError, match="is no place for a mirror"):
        mirror("/nowhere", remote)


def test_no_configuration_lets_an_address_run_a_program(
    project: Project, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An address that turns into `ext::` on its way is refused by git itself."""
    config = tmp_path / "gitconfig"
    config.write_text(
        '[protocol "ext"]\n\tallow = always\n[protocol]\n\tallow = always\n'
        f'[url "ext::sh -c touch% {tmp_path}/ran "]\n\tinsteadOf = https://example.org/\n'
        '[url "http://127.0.0.1:9/"]\n\tinsteadOf = https://example.com/\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ext:http")

    with pytest.raises(MirrorFailed, match="transport 'ext' not allowed"):
        push(project, "https://example.org/x")
    with pytest.raises(MirrorFailed, match="transport 'http' not allowed"):
        push(project, "https://example.com/x")

    assert not (tmp_path / "ran").exists()


def test_the_user_s_git_settings_reach_the_remote_and_their_hooks_do_not_run(
    project: Project, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Addresses are rewritten and proxies are used as in a shell; a hook is meant for one's own repositories."""
    (tmp_path / "hooks").mkdir()
    for name in ("pre-push", "reference-transaction"):
        script(tmp_path / "hooks" / name, f"touch {tmp_path}/ran; exit 1")
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[url "{there}"]\n\tinsteadOf = ssh://backup/x\n'
        f"[remote]\n\tpushDefault = {tmp_path}/elsewhere\n[push]\n\tgpgSign = true\n"
    )
    git("config", "core.hooksPath", tmp_path / "hooks", git_dir=project.git_dir)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    assert push(project, "ssh://backup/x").remote == "ssh://backup/x"

    assert refs(there) == refs(project.git_dir)
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def ssh(tmp_path: Path, there: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `ssh` on the PATH that notes what it is asked, and serves the repository from this machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(
        folder / "ssh",
        f'[ "$1" = -G ] && exit 1\necho "$@" >> {tmp_path}/asked\nexec git-receive-pack {there}',
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path / "asked"


@pytest.mark.parametrize("remote", ["git@backup:x.git", "ssh://git@backup/x.git"])
def test_ssh_is_told_to_ask_nothing(project: Project, there: Path, ssh: Path, remote: str):
    """Nobody sits before a daemon: a question would wait for ever."""
    push(project, remote)
    assert refs(there) == refs(project.git_dir)
    assert "BatchMode=yes" in ssh.read_text()


def test_an_ssh_command_of_the_user_s_own_is_used_as_it_is(
    project: Project, there: Path, ssh: Path, monkeypatch: pytest.MonkeyPatch
):
    """A key of its own for backups is set there."""
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -i from-environment")
    push(project, "git@backup:x.git")
    monkeypatch.delenv("GIT_SSH_COMMAND")
    git("config", "core.sshCommand", "ssh -i from-settings", git_dir=project.git_dir)
    push(project, "git@backup:x.git")
    first, second = ssh.read_text().splitlines()
    assert first.startswith("-i from-environment")
    assert second.startswith("-i from-settings")
    assert "BatchMode" not in first + second


def test_a_push_that_takes_for_ever_ends_with_the_daemon(project: Project, ssh: Path, tmp_path: Path):
    """A machine that does not answer must not keep this one from shutting down."""
    script(tmp_path / "bin" / "ssh", f'[ "$1" = -G ] && exit 1\necho $$ > {tmp_path}/pid\nexec sleep 60')
    stop = threading.Event()
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            mirror(str(project.git_dir), "backup:x", stop=stop.is_set)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    assert isinstance(caught[0], DaemonStopping)
    eventually(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_a_password_in_an_address_is_told_to_nobody(project: Project):
    """Answers are logged by editors, and errors are copied into reports."""
    assert shown("https://ada:s3cret@example.org/x") == "https://example.org/x"
    assert shown("https://t0ken@example.org/x") == "https://example.org/x"
    assert shown("git@example.org:x") == "git@example.org:x"
    with pytest.raises(MirrorFailed) as failed:
        push(project, "https://ada:s3cret@127.0.0.1:9/x")
    assert "s3cret" not in failed.value.message
    with pytest.raises(UsageError) as refused:
        push(project, "http://ada:s3cret@example.org/x")
    assert "s3cret" not in refused.value.message


def test_a_path_may_have_any_name(project: Project, there: Path, tmp_path: Path):
    """Colons, spaces, leading hyphens, and bytes that are not UTF-8."""
    for name in ("a:b c", "-x", os.fsdecode(b"caf\xe9")):
        shutil.copytree(there, tmp_path / name)
        assert len(push(project, tmp_path / name).new) == 2


def test_git_has_the_user_s_keys_and_no_way_to_ask(
    project: Project, ssh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The agent that holds the keys is used; a window that asks for a password would be nobody's."""
    script(
        tmp_path / "bin" / "ssh", f'env > {ssh}; (: < /dev/tty) 2>> {ssh} || echo "NO_TTY=1" >> {ssh}; exit 1'
    )
    given = {
        "SSH_AUTH_SOCK": "/agent",
        "GIT_ASKPASS": "/window",
        "GIT_SSL_CAINFO": "/ca",
        "GIT_NAMESPACE": "x",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(MirrorFailed, match="Could not read from remote repository"):
        push(project, "host:x")

    found = dict(line.partition("=")[::2] for line in ssh.read_text().splitlines())
    assert (found["SSH_AUTH_SOCK"], found["GIT_SSL_CAINFO"], found["HOME"]) == (
        "/agent",
        "/ca",
        str(tmp_path),
    )
    assert (found["GIT_ASKPASS"], found["GIT_TERMINAL_PROMPT"], found["NO_TTY"]) == ("", "0", "1")
    assert found["SSH_ASKPASS_REQUIRE"] == "never"
    assert "GIT_NAMESPACE" not in found
