"""What a harness says and takes: its data file read, its payload made an event, its answer in its own shape."""
