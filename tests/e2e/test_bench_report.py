"""What `make bench` writes, made from figures that are given."""

import xml.etree.ElementTree as Xml

import msgspec
import pytest
from bench import plot, report
from bench.figure import Figure, Unit, at_most, at_most_times, faster
from bench.growth import Point
from bench.machine import Processors
from bench.results import Results
from bench.sample import Sample, sample, single

SAVE = Figure(
    name="P1",
    what="save",
    ours=sample([0.004, 0.005, 0.012]),
    peer=sample([0.6, 0.8]),
    peer_is="git",
    bar=faster(150),
    load=0.4,
    stolen=0.123,
    files=1000,
)
MEMORY = Figure(name="P6", what="memory", unit=Unit.BYTES, ours=single(130e6), bar=at_most(120e6), load=2.25)
SIZE = Figure(name="P3", what="size", unit=Unit.BYTES, ours=single(2e6), peer=single(5e6), peer_is="borg")


def results(*figures: Figure, growth: tuple[Point, ...] = ()) -> Results:
    return Results(
        day="2026-01-02",
        machine="2 cores",
        versions={"git": "git version 2"},
        absent={"restic": "not installed"},
        figures=figures,
        growth=growth,
    )


def test_a_row_shows_both_sides_their_spread_the_ratio_and_the_verdict():
    """A figure without its spread, its peer or its bar can't be judged."""
    assert report.row(SAVE) == (
        "| P1 | save | 1,000 | 5.00 ms (4.00 ms – 12.00 ms, n 3) | 700.00 ms (600.00 ms – 800.00 ms, n 2) (git)"
        " | 140.0 × faster | ≥ 150 × | **not reached** | 0.4 | 12% |"
    )
    assert report.row(MEMORY) == (
        "| P6 | memory | 0 | 130.0 MB | – | – | ≤ 120.0 MB | **not reached** | 2.2 | – |"
    )
    assert report.row(SIZE) == "| P3 | size | 0 | 2.0 MB | 5.0 MB (borg) | 2.5 × smaller | – |  | 0.0 | – |"


@pytest.mark.parametrize(
    ("figure", "reached"),
    [
        (SAVE, False),
        (msgspec.structs.replace(SAVE, bar=faster(140)), True),
        (msgspec.structs.replace(SAVE, bar=at_most_times(0.0072)), True),
        (msgspec.structs.replace(SAVE, bar=at_most_times(0.007)), False),
        (msgspec.structs.replace(SAVE, bar=at_most(0.005)), True),
        (msgspec.structs.replace(SAVE, bar=at_most(0.005), quantile=0.99), False),
        (msgspec.structs.replace(SAVE, bar=None), None),
        (msgspec.structs.replace(SAVE, peer=None), False),
        (Figure(name="P8", what="", failure="failed"), False),
        (Figure(name="P11", what="", unit=Unit.COUNT, ours=single(0), bar=at_most(0)), True),
    ],
)
def test_a_bar_is_reached_exactly_where_it_says(figure: Figure, reached: bool | None):
    """A figure that is not reached, or could not be measured, is never shown as reached."""
    assert figure.reached is reached


def test_what_others_got_of_the_processors_is_a_part_of_what_was_wanted_of_them():
    """An idle hour before the measurement says nothing about it."""
    before, after = Processors(all=1000, stolen=10), Processors(all=1400, stolen=110)
    assert after.taken_since(before) == 0.25
    assert before.taken_since(before) == 0.0
    now = Processors.now()
    assert now.all > now.stolen >= 0


def test_quantiles_leave_nothing_out():
    """The one slow save of a hundred is what people remember."""
    found = Sample(tuple(map(float, range(100, 0, -1))))
    assert (found.at(0.5), found.at(0.99), found.at(1.0)) == (50.5, 99.0, 100.0)
    assert (found.low, found.high) == (1.0, 100.0)


def test_the_document_names_the_machine_the_load_and_what_is_absent():
    """Figures without their circumstances are not worth comparing."""
    text = report.document(results(SAVE, MEMORY))
    assert "2026-01-02, 2 cores; git version 2." in text
    assert "Measured under load 0.4–2.2" in text
    assert "- restic: not installed" in text
    assert "growth.svg" in text
    assert report.missed([SAVE, MEMORY, SIZE]) == [
        "P1, save: 140.0 × faster, wanted ≥ 150 × (git)",
        "P6, memory: 130.0 MB, wanted ≤ 120.0 MB",
    ]


def test_a_run_in_parts_keeps_what_it_did_not_measure():
    """A long run is made figure by figure on a machine that has other things to do."""
    before = results(SAVE, MEMORY, growth=(Point(curve="save", unit="s", files=10, ours=1.0),))
    again = msgspec.structs.replace(SAVE, load=9.0)
    points = tuple(Point(curve="save", unit="s", files=files, ours=2.0) for files in (10, 100))
    whole = results(again, growth=points[1:]).on_top_of(before, ["P1", "P6"])
    assert whole.figures == (again, MEMORY)
    assert "P6: of an earlier run." in report.document(whole)
    assert "of an earlier run" not in report.document(before)
    assert [(point.files, point.ours) for point in whole.growth] == [(10, 1.0), (100, 2.0)]
    assert results(growth=points).on_top_of(before, ["P1", "P6"]).growth == points


def test_the_plot_has_a_panel_for_each_curve_and_every_point_lies_inside():
    """It is looked at in the README: it must be well-formed, and show all of it."""
    growth = tuple(
        Point(curve=curve, unit=unit, files=files, ours=ours, peer=peer, peer_is="git <add>")
        for curve, unit, peer in (("save", "s", 0.5), ("memory", "bytes", None))
        for files, ours in ((1_000, 0.004), (10_000, 0.0041), (1_000_000, 3.0))
    )
    picture = Xml.fromstring(plot.drawn(growth))  # noqa: S314 - our own
    assert len(picture.findall("{*}g")) == 2
    assert len(picture.findall(".//{*}circle")) == 9
    for circle in picture.iter("{http://www.w3.org/2000/svg}circle"):
        assert plot.LEFT <= float(circle.attrib["cx"]) <= plot.WIDTH - plot.RIGHT
        assert plot.TOP <= float(circle.attrib["cy"]) <= plot.HEIGHT - plot.BOTTOM
    assert "1,000,000" in [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_a_plot_of_nothing_is_a_picture():
    """A run of some figures has no curves."""
    assert Xml.fromstring(plot.drawn(())).tag.endswith("svg")  # noqa: S314 - our own
