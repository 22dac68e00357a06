"""A kernel's identity regardless of formatting: the digest of its words and their meaning."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from tilepragma.ir.loop_tree import Kernel, SourceFile
from tilepragma.ir.loop_tree_text import statement_text, type_text

#: Comments and white space with continued lines; strings and characters, whose spaces count; words
#: and numbers; any other character.
_TOKEN = re.compile(
    r"""(?P<space>/\*.*?\*/|//[^\n]*|\\\r?\n|\s+)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.]+|.""", re.DOTALL
)


def kernel_digest(kernel: Kernel, files: Iterable[SourceFile]) -> str:
    """The digest of a kernel as the user wrote it: its directives and statements by words, and
    their meaning by macros, types and functions declared elsewhere.
    """
    digest = hashlib.blake2b(digest_size=16)
    texts = {file.path: file.text for file in files}
    for place in (kernel.directive.range, kernel.range):
        text = texts.get(place.start.file, b"")[place.start.offset : place.end.offset]
        for match in _TOKEN.finditer(text.decode("utf-8", "replace")):
            if match["space"] is None:
                digest.update(match[0].encode() + b"\0")
    expanded = [
        statement_text(kernel.body),
        *(f"{object_.host} {type_text(object_.element)} {object_.rank}" for object_ in kernel.objects),
        *(f"{function.name}\n{statement_text(function.body)}" for function in kernel.functions),
    ]
    digest.update("\0".join(expanded).encode())
    return digest.hexdigest()
