"""The way from a raw event to a stored observation: sanitise, decode, capture rules, journal.

Used by HTTP and by the drain of the spool alike.
"""
