"""How much may be under way."""

from backtraild.server import ledger
from backtraild.server.ledger import Ledger, Ticket


def admitted(book: Ledger, peer: bytes, size: int = 0) -> Ticket:
    ticket = book.admit((peer,), bytes(size))
    assert ticket is not None
    return ticket


def test_one_connection_can_have_a_thousand_and_then_others_still_get_in():
    """A program that runs wild must not lock out the command line."""
    book = Ledger()
    tickets = [admitted(book, b"wild") for _ in range(ledger.MAX_OF_ONE)]
    assert book.admit((b"wild", b""), b"") is None
    admitted(book, b"other")
    book.settle(tickets[0])
    admitted(book, b"wild")


def test_all_together_have_a_limit():
    """Many connections must not add up to all of the machine's memory."""
    book = Ledger()
    tickets = [admitted(book, b"%d" % (number % 100)) for number in range(ledger.MAX_OF_ALL)]
    assert book.admit((b"one more",), b"") is None
    book.settle(tickets[0])
    admitted(book, b"one more")


def test_memory_has_a_limit_and_answers_that_wait_count():
    """Few requests can be large, and so can their answers."""
    book = Ledger()
    large = admitted(book, b"a", ledger.MAX_BYTES_OF_ONE)
    small = admitted(book, b"b", 1)
    left = ledger.MAX_BYTES - ledger.MAX_BYTES_OF_ONE - 1
    assert not book.has_room(small, bytes(left + 1))
    book.keep(small, bytes(left))
    assert book.admit((b"c",), b"c") is None
    book.settle(small)
    book.settle(large)
    admitted(book, b"c", ledger.MAX_BYTES_OF_ONE)


def test_one_connection_that_does_not_read_leaves_memory_to_the_others():
    """Its answers add up; the command line must still be able to say something."""
    book = Ledger()
    unread = admitted(book, b"deaf")
    book.keep(unread, bytes(ledger.MAX_BYTES_OF_ONE))
    assert book.admit((b"deaf",), b"more") is None
    assert not book.has_room(unread, b"more")
    assert book.has_room(admitted(book, b"other", 8 * 1024 * 1024), bytes(8 * 1024 * 1024))


def test_connections_that_are_gone_leave_nothing_behind():
    """A daemon runs for months and sees millions of connections."""
    book = Ledger()
    for number in range(1000):
        book.settle(admitted(book, b"%d" % number, 3))
    assert (len(book._of_one), book._of_all, book._bytes, len(book._bytes_of_one)) == (0, 0, 0, 0)
