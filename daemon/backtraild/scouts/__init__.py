"""Scouts: processes that look for what changed while nobody watched, from the first moment of a start on.

Python looks at files with one processor at a time, and a start has its modules to load. So scouts set out before that,
as many as there are processors. They have every known folder watched and compare what is in it with the stat table; for
whatever is not exactly as it was they give a hint, as a watcher does, and what happened is found out by the usual look.
What is as it was, which is nearly all, is not looked at again.

A report counts only as a whole. Whatever goes wrong, there is none, and the start looks at everything itself.

    party      the processes; all that they use is loaded in a moment, and nothing else may be
    errand     what there is to be looked at
    looking    the comparison of some folders
    sights     how files look, as bytes of the system
    listings   what else is in them, known from an earlier start where their times are the same
    kernel     the calls for watching, without a library around them
    gathering  the daemon's side: what they send back
    report     what they have found
"""
