"""Taking something out of everything that is stored: the machine under `aimemory forget` and `aimemory rescan`.

`change` says what becomes of a line, a page, a file, a past version; `run` applies that to every place in an order that
a kill can't break; `search` proves it by looking at all bytes.
"""
