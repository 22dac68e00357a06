"""Statements between a region's kernels that may stay on the host: they touch no kernel array.

The types of elements and their arrays tell which elements a region may write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, Key, Node, TypeKind, strip
from tilepragma.frontend.clang.lowering_context import changed_operand, member_root
from tilepragma.frontend.clang.struct_members import overlaps_of
from tilepragma.frontend.clang.type_conversion import is_address, is_array, is_pointer, is_record, target_type

_BYTES = (TypeKind.CHAR_S, TypeKind.CHAR_U, TypeKind.SCHAR, TypeKind.UCHAR)
_IGNORED = re.compile(r"\b(?:const|volatile|restrict|unsigned|signed)\b\s*")
_REFERENCES = (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR)
_WAYS = (CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.MEMBER_REF_EXPR, CursorKind.BINARY_OPERATOR)
_ASSEMBLY = ("assembly may change any array, whose newest values may be on a device", "write the operation in C")
_OPAQUE = (CursorKind.ASM_STMT, CursorKind.MS_ASM_STMT)
_ELSEWHERE = "call it before or after the region, or put the kernel before the loops inside"


@dataclass(frozen=True)
class NamedPointer:
    """A pointer variable, or a member path (`grid->now`) from a declared variable, and its type."""

    host: str
    declaration: Node = field(compare=False)
    key: Key
    type: Any = field(compare=False)
    range: SourceRange = field(compare=False)


@dataclass
class HostText:
    """Checks text of a region that is to run on the host.

    `elements` has the types of elements that the region's loops touch, `arrays` the names of
    members that are arrays, `writes` what the region writes. Objects of other types are other
    objects (C99 6.5p7). But any object may be behind a pointer to characters, unless a function
    gets it as a constant text. The host may read elements that nothing in the region writes.
    `calls` tells whether the host text calls a function of the user. `reads` has, for each type, an
    element that the host reads. `_sets` collects which pointers are set to which; `_set_first` and
    `_read_first` have the first offset of each.
    """

    elements: frozenset[str]
    arrays: frozenset[str]
    writes: tuple[Node, ...]
    calls: bool = False
    reads: dict[str, Node] = field(default_factory=dict)
    _sets: list[tuple[NamedPointer, NamedPointer]] = field(default_factory=list)
    _set_first: dict[NamedPointer, int] = field(default_factory=dict)
    _read_first: dict[NamedPointer, int] = field(default_factory=dict)
    _called: dict[Key, SourceError | None] = field(default_factory=dict)
    _depth: int = 0

    def refusal(self, node: Node) -> SourceError | None:
        """Why a statement or expression cannot run on the host as it is, or None."""
        try:
            self._check(node)
        except SourceError as refusal:
            return refusal
        return None

    def groups(self) -> Iterator[tuple[NamedPointer, ...]]:
        """Groups of pointers that hold each other's values, directly or not."""
        groups: list[list[NamedPointer]] = []
        for pair in self._sets:
            joined = [group for group in groups if any(pointer in group for pointer in pair)]
            groups = [group for group in groups if group not in joined]
            groups.append(list(dict.fromkeys((*(pointer for group in joined for pointer in group), *pair))))
        return (tuple(group) for group in groups)

    def has_value_before(self, pointer: NamedPointer) -> bool:
        """Whether the region uses the pointer's value before it sets the pointer."""
        first = self._set_first.get(pointer)
        read = self._read_first.get(pointer)
        return first is None or (read is not None and read < first)

    def _check(self, node: Node) -> None:
        """Check a piece of text. Raises SourceError if it touches an array, or may."""
        kind = node.kind
        if kind == CursorKind.CALL_EXPR:
            self._call(node)
        elif kind == CursorKind.VAR_DECL and self._is_held(node.type) and is_pointer(node.type):
            initializer = node.unit.initializer(node)
            if initializer is not None:
                self._set(NamedPointer(node.spelling, node, node.key, node.type, node.range), initializer)
        elif kind == CursorKind.BINARY_OPERATOR and self._relates_pointers(node):
            left, right = map(strip, node.children)
            if node.binary_operator == "=":
                target = self._named(left)
                assert target is not None
                is_parameter = target.declaration.kind == CursorKind.PARM_DECL
                if self._depth > 0 and is_parameter and "." in target.host.replace("->", "."):
                    raise self._touching(left)  # the caller's struct is unknown
                self._set(target, right)
        elif kind in _REFERENCES and (self._is_held(node.type) or self._overlaps_elements(node)):
            if not self._is_new(node):
                raise self._touching(node)
        elif _is_element(node):
            self._element(node, changed=False)
        elif (changed := _changed_element(node)) is not None:
            self._element(changed, changed=True)
            for child in node.children[1:]:
                self._check(child)
        elif kind in _OPAQUE:
            raise source_error(node.range, *_ASSEMBLY)
        else:
            self._check_children(node)

    def _element(self, node: Node, changed: bool) -> None:
        """Check an element; the host may read it if no kernel of the region writes it."""
        if self._is_new(node):
            self._check_address(node)
            return
        touched = not self.elements.isdisjoint(_types_in(node.type))
        if _is_any_byte(node) or (touched and (changed or is_address(node.type))):
            raise self._touching(node)
        if not touched:
            self._check_children(node)
        else:
            write = _conflicting_write(node, self.writes)
            if write is not None:
                raise self._touching(node, write)
            self._check_address(node)
        if not changed:
            for type_ in _types_in(node.type):
                self.reads.setdefault(type_, node)

    def _is_new(self, node: Node) -> bool:
        """Whether it lies in an automatic array of a called function, which no kernel has."""
        place = strip(node)
        while place.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR and is_array(strip(place.children[0]).type):
            place = strip(place.children[0])
        array = place.named
        return (
            self._depth > 0
            and array is not None
            and array.kind == CursorKind.VAR_DECL
            and is_array(array.type)
            and array.is_local
            and array.storage not in ("STATIC", "EXTERN")
        )

    def _check_address(self, node: Node) -> None:
        """Check an element's subscripts and pointers; an array on the way to it is no value."""
        for child in map(strip, node.children):
            if child.kind in _WAYS and is_address(child.type):
                self._check_address(child)
            elif child.kind != CursorKind.DECL_REF_EXPR:
                self._check(child)

    def _check_children(self, node: Node) -> None:
        for child in node.children:
            self._check(child)

    def _call(self, node: Node) -> None:
        declaration = node.called
        if declaration is None:
            message = "a function is called through a pointer here"
            raise source_error(node.range, message, "call it before or after the region")
        definition = declaration.definition
        if definition is not None and node.unit.is_system(definition.file):
            definition = None
        for place, argument in enumerate(node.children[1:]):
            plain = strip(argument)
            passed = _pointer(strip(plain.children[0])) if plain.takes_address else None
            if definition is not None and passed is not None and self._is_held(passed.type):
                self._sets.append((_through(definition.parameters[place]), passed))
            else:
                self._argument(argument, declaration.spelling)
        if definition is not None:
            self._body(definition, node)
        elif declaration.file and not node.unit.is_system(declaration.file):
            raise self._calling(node, f"'{declaration.spelling}'", "it is not defined in this file")

    def _argument(self, argument: Node, function: str) -> None:
        plain = strip(argument)
        if plain.named is not None and plain.named.kind == CursorKind.FUNCTION_DECL:
            raise self._calling(argument, f"'{function}'", "it gets a function")
        pointee = plain.type.get_canonical().get_pointee()  # an array has none
        changes_bytes = _is_byte(pointee) and not pointee.is_const_qualified()
        if plain.kind in _REFERENCES and self._is_new(plain):
            return
        if plain.kind in _REFERENCES and (self._is_held(plain.type) or changes_bytes):
            message = f"'{function}' gets '{_text(argument)}', whose newest values may be on a device"
            raise source_error(argument.range, message, _ELSEWHERE)
        self._check(argument)

    def _body(self, definition: Node, call: Node) -> None:
        self.calls = True
        if definition.key not in self._called:
            self._called[definition.key] = None
            self._depth += 1
            self._called[definition.key] = self.refusal(definition.body)
            self._depth -= 1
        refusal = self._called[definition.key]
        if refusal is not None:
            raise self._calling(call, f"'{definition.spelling}'", refusal.diagnostic.message)

    @staticmethod
    def _calling(node: Node, function: str, why: str) -> SourceError:
        message = f"{function} may use arrays whose newest values are on a device: {why}"
        return source_error(node.range, message, _ELSEWHERE)

    def _relates_pointers(self, node: Node) -> bool:
        """Whether the node only sets one pointer to others, or compares two."""
        left, right = map(strip, node.children)
        if not self._is_held(left.type) or self._named(left) is None:
            return False
        if node.binary_operator == "=":
            return is_pointer(left.type)
        return node.binary_operator in ("==", "!=") and self._named(right) is not None

    def _named(self, node: Node) -> NamedPointer | None:
        """The pointer that an expression names; in functions also what a parameter points to."""
        if self._depth > 0 and node.is_dereference and is_pointer(node.type):
            parameter = strip(node.children[0]).declaration
            if parameter is not None and parameter.kind == CursorKind.PARM_DECL:
                return _through(parameter)
        return _pointer(node)

    def _set(self, target: NamedPointer, value: Node) -> None:
        """Note that a pointer is set; its value must be that of another pointer."""
        values, conditions = _choices(value)
        for named in values:
            pointer = self._named(named)
            if pointer is None:
                raise self._touching(named)
            self._sets.append((target, pointer))
            self._read_first[pointer] = min(named.start, self._read_first.get(pointer, named.start))
        for node in conditions:
            self._check(node)
        self._set_first.setdefault(target, target.range.start.offset)

    def _is_held(self, type_: Any) -> bool:
        """Whether it is a pointer or an array that may lead to elements of the loops."""
        if not is_address(type_):
            return False
        element = _element_name(type_)
        return element in self.elements or element == "void"

    def _overlaps_elements(self, node: Node) -> bool:
        """Whether a member shares memory with an array that the region names."""
        return node.kind == CursorKind.MEMBER_REF_EXPR and not self.arrays.isdisjoint(overlaps_of(node))

    def _touching(self, node: Node, write: Node | None = None) -> SourceError:
        if is_address(node.type):
            remedy = "between loops, only set and compare pointers; do everything else before or after the region"
            return source_error(node.range, f"the newest values of '{_text(node)}' may be on a device", remedy)
        write = write or _conflicting_write(node, self.writes)
        why = "" if write is None else f": '{_text(write)}' is written in the region (line {write.range.start.line})"
        same_array = write is None or _text(write).partition("[")[0] == _text(node).partition("[")[0]
        alias = "" if same_array else ", and may be the same memory"
        message = f"the newest value of '{_text(node)}' may be on a device{why}{alias}"
        return source_error(node.range, message, "copy it to a variable in a separate statement, and use that")


def host_text(region: Node) -> HostText:
    """The check for a region and its loops."""
    types: set[str] = set()
    read: dict[NamedPointer, int] = {}
    for loop in (node for node in region.walk() if node.kind == CursorKind.FOR_STMT):
        for node in loop.walk():
            if _is_element(node):
                types.update(_types_in(node.type))
            pointer = _pointer(node) if node.kind in _REFERENCES else None
            if pointer is not None:
                read.setdefault(pointer, node.start)
    members = (node for node in region.walk() if node.kind == CursorKind.MEMBER_REF_EXPR)
    arrays = frozenset(member.spelling for member in members if is_array(member.type))
    return HostText(frozenset(types), arrays, _written_places(region), _read_first=read)


def _changed_element(node: Node) -> Node | None:
    """The array element that a node changes, wholly or in a member, or None."""
    changed = changed_operand(node)
    whole = None if changed is None else member_root(changed)
    return whole if whole is not None and _is_element(whole) else None


def _is_element(node: Node) -> bool:
    return bool(node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR) or node.is_dereference


def _is_any_byte(node: Node) -> bool:
    """Whether the element is a byte behind a pointer, hence of an object of any type."""
    whole = strip(node.children[0])
    return _is_byte(node.type) and not is_array(whole.type) and whole.kind != CursorKind.STRING_LITERAL


def _text(node: Node) -> str:
    return node.unit.text(node.file)[node.start : node.end].decode(errors="replace")


def _through(parameter: Node) -> NamedPointer:
    """The pointer that a parameter points to."""
    return NamedPointer(f"*{parameter.spelling}", parameter, parameter.key, parameter.type, parameter.range)


def _pointer(node: Node) -> NamedPointer | None:
    """The pointer that an expression names, plainly or by a member path; else None."""
    if not is_address(node.type):
        return None
    root, path = node, ""
    while root.kind == CursorKind.MEMBER_REF_EXPR and root.children:
        base = strip(root.children[0])
        path = f"{'->' if is_pointer(base.type) else '.'}{root.spelling}{path}"
        root = base
    declaration = root.named
    if declaration is None or declaration.kind not in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return None
    return NamedPointer(declaration.spelling + path, declaration, declaration.key, node.type, node.range)


def _choices(node: Node) -> tuple[list[Node], list[Node]]:
    """The expressions that a pointer's value may come from, and the conditions that choose."""
    plain = strip(node)
    if plain.kind != CursorKind.CONDITIONAL_OPERATOR:
        return [plain], []
    condition, *branches = plain.children
    values, conditions = list[Node](), [condition]
    for chosen, chooses in map(_choices, branches):
        values += chosen
        conditions += chooses
    return values, conditions


# -- elements that a region writes


def _written_places(region: Node) -> tuple[Node, ...]:
    """The places that a region and the functions it calls assign.

    Also arguments of unknown functions, which may write through the pointers that they get.
    """
    nodes: list[Node] = []
    known: set[Key] = set()
    pending = [region]
    while pending:
        for node in pending.pop().walk():
            changed = changed_operand(node)
            # Variables and their members always stay on the host.
            if changed is not None and member_root(changed).kind != CursorKind.DECL_REF_EXPR:
                nodes.append(changed)
            if node.kind != CursorKind.CALL_EXPR:
                continue
            definition = None if node.called is None else node.called.definition
            if definition is None:
                nodes += [child for child in node.children[1:] if _may_be_written_through(child)]
            elif definition.key not in known:
                known.add(definition.key)
                pending.append(definition)
    return tuple(nodes)


def _conflicting_write(element: Node, writes: Iterable[Node]) -> Node | None:
    """The first write that may change the element, by types (C99 6.5p7) and arrays, or None."""
    types, root = set(_types_in(element.type)), _plain_root(element)
    for write in writes:
        write_root = _plain_root(write)
        if root is not None and write_root is not None and root != write_root:
            continue
        written = set(_types_in(write.type))
        if _is_byte(write.type) or "void" in written or not types.isdisjoint(written):
            return write
    return None


def _plain_root(element: Node) -> Key | None:
    """The array or struct variable that holds an element; None for one behind a pointer."""
    node = strip(element)
    while True:
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            bases = [base for base in map(strip, node.children) if is_array(base.type)]
            if not bases:
                return None
            node = bases[0]
        elif node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            node = strip(node.children[0])
            if is_pointer(node.type):
                return None
        else:
            break
    is_variable = node.named is not None and node.named.kind == CursorKind.VAR_DECL
    return node.named.key if node.named is not None and is_variable and not is_pointer(node.named.type) else None


def _is_byte(type_: Any) -> bool:
    return bool(type_.get_canonical().kind in _BYTES)


def _element_name(type_: Any) -> str:
    """The innermost type of pointers and arrays, without qualifiers and signs."""
    element = type_.get_canonical()
    while is_address(element):
        element = target_type(element).get_canonical()
    return _IGNORED.sub("", str(element.spelling)).strip()


def _types_in(type_: Any) -> Iterator[str]:
    """The innermost type of pointers and arrays, and if it is a struct, its members' types."""
    yield _element_name(type_)
    element = type_.get_canonical()
    while is_array(element):
        element = target_type(element).get_canonical()
    if is_record(element):
        for member in element.get_fields():
            yield from _types_in(member.type)


def _may_be_written_through(argument: Node) -> bool:
    type_ = argument.type
    return is_array(type_) or (is_pointer(type_) and not target_type(type_).is_const_qualified())
