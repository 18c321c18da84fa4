"""What runs inside a harness: forwards the event's bytes to the daemon and prints the answer.

`stub` and `main` are the fast path and import next to nothing; `undelivered`, `room` and `autostart` are loaded only
when an event could not be delivered, nearly always in a detached child.
"""
