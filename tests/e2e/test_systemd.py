"""The unit, under a real systemd: that it is well formed says nothing about what happens with it."""

from pathlib import Path

from support.systemd import run_apart

_SCENARIOS = "support.systemd_scenarios"


def test_from_install_to_uninstall_nothing_is_lost_and_nothing_is_left(tmp_path: Path):
    """The whole life of a service, beginning with a daemon that a command has started and edits that are pending."""
    run_apart(_SCENARIOS, "from_install_to_uninstall", tmp_path)


def test_a_daemon_that_hangs_is_restarted_and_one_that_works_is_not(tmp_path: Path):
    """A hung daemon looks alive to everybody but the one who needs a checkpoint."""
    run_apart(_SCENARIOS, "a_hang", tmp_path)


def test_a_unit_that_finds_another_daemon_at_work_gives_up_and_does_it_no_harm(tmp_path: Path):
    """Trying again every two seconds until the other one ends would fill the journal, and help nobody."""
    run_apart(_SCENARIOS, "a_second_daemon", tmp_path)


def test_an_installation_that_does_not_start_is_reported_and_left_alone(tmp_path: Path):
    """Better to learn it when installing than when a checkpoint is missing."""
    run_apart(_SCENARIOS, "a_program_that_does_not_start", tmp_path)


def test_the_restrictions_of_the_unit_allow_all_that_the_daemon_does(tmp_path: Path):
    """A call that is forbidden by mistake fails in the middle of somebody's restore."""
    run_apart(_SCENARIOS, "all_that_it_does", tmp_path)
