"""The shape of the block in which recorded text is given to a model, and how such blocks are found again.

Making the block belongs to `brief.fence`. Capture removes it from what a harness sends, so that what we injected is
never recorded as something a person or an agent said.
"""

import re

TAG_NAME = "aimemory-"
"""The tag is this and hex digits; both tags stand on lines of their own."""

_LINE_END = r"(?:\r?\n|\\r\\n|\\n)"  # some harnesses hand over text that is still JSON-escaped

INJECTED = re.compile(rf"<aimemory-([0-9a-f]{{8,16}})>{_LINE_END}.*?(?:</aimemory-\1>|\Z)", re.DOTALL)
"""A whole block, or one whose end was cut off. An inline mention of the tag has no line end behind it and stays."""

_BEGINNING_CUT_OFF = re.compile(rf"\A.*?{_LINE_END}</aimemory-[0-9a-f]{{8,16}}>(?=\s|\\n|\Z)", re.DOTALL)
_TAG_CUT_OFF = re.compile(r"<aimemory-[0-9a-f]*\Z")


def remove_injected(text: str) -> str:
    """The text without blocks of ours, whole or cut at either end; surrounding white space goes only with a block.

    Linear in the text's length. Text that holds no tag of ours comes back unchanged.
    """
    if TAG_NAME not in text:
        return text
    rest = INJECTED.sub("", text)
    rest = _BEGINNING_CUT_OFF.sub("", rest, count=1)
    rest = _TAG_CUT_OFF.sub("", rest)
    return rest if rest == text else rest.strip()
