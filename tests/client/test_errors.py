"""Errors that come over the wire are the same classes as those raised here."""

from backtrail.errors import BacktrailError, DaemonSilent, DaemonUnreachable, UnknownCheckpoint, error_from


def test_a_code_becomes_the_class_that_has_it():
    """`except UnknownCheckpoint` works although the daemon raised it."""
    error = error_from("unknown-checkpoint", "There is no checkpoint 7.", "Look at the list.")
    assert type(error) is UnknownCheckpoint
    assert (error.message, error.hint, error.exit_status) == (
        "There is no checkpoint 7.",
        "Look at the list.",
        12,
    )


def test_a_code_that_only_a_newer_daemon_knows_keeps_its_code():
    """Programs can still tell it from others, and people still get the sentence."""
    error = error_from("brand-new", "Something new.")
    assert type(error) is BacktrailError
    assert (error.code, error.exit_status) == ("brand-new", 1)
    assert BacktrailError.code == "failed"


def test_every_class_has_a_code_of_its_own():
    """Two classes with one code could not be told apart on the wire."""
    codes = [kind.code for kind in _all(BacktrailError)]
    assert sorted(codes) == sorted(set(codes))


def test_a_silent_daemon_is_an_unreachable_one():
    """Scripts that look for exit status 10 find both."""
    assert issubclass(DaemonSilent, DaemonUnreachable)
    assert DaemonSilent("").exit_status == 10


def _all(kind):
    found = [kind]
    for narrower in kind.__subclasses__():
        if narrower.__module__.startswith("backtrail."):
            found += _all(narrower)
    return found
