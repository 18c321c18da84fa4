"""`aimemory` and `python -m aimemory`. `mcp` is dispatched before click is imported: an agent waits for its answer."""

import sys


def main() -> None:
    """Entry point of the command line."""
    if sys.argv[1:2] == ["mcp"] and not {"--help", "-h"} & set(sys.argv[2:]):
        from aimemory.stdio.shim import run_from_environment

        sys.exit(run_from_environment())
    from aimemory.cli.main import cli

    cli.main(prog_name="aimemory")


if __name__ == "__main__":
    main()
