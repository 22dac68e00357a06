"""Random reductions and scans over all pairs of arithmetic types, one kernel for each number.

No kernel has undefined behaviour: data are chosen so that signed integers of an int's width and
more do not overflow in any order, and conversions from floating to integer types fit. Floating sums
and products whose order a clause frees are exact, so that their bits agree too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.support.cases import Case, CaseFile


@dataclass(frozen=True)
class Number:
    """An arithmetic type of C; `signed` of floating types too."""

    spelling: str
    bits: int
    signed: bool
    floating: bool = False

    @property
    def name(self) -> str:
        return self.spelling.replace(" ", "_").lstrip("_").lower()

    @property
    def truth(self) -> bool:
        return self.spelling == "_Bool"


BOOL = Number("_Bool", 1, False)
INT = Number("int", 32, True)
TYPES = (
    BOOL,
    Number("char", 8, True),
    Number("signed char", 8, True),
    Number("unsigned char", 8, False),
    Number("short", 16, True),
    Number("unsigned short", 16, False),
    INT,
    Number("unsigned", 32, False),
    Number("long", 64, True),
    Number("unsigned long", 64, False),
    Number("long long", 64, True),
    Number("unsigned long long", 64, False),
    Number("float", 32, True, True),
    Number("double", 64, True, True),
    Number("long double", 128, True, True),
)
#: Devices have no long double.
DEVICE_TYPES = TYPES[:-1]
LENGTH = 600
ROWS = 20

#: Arrays of data: of integers all values, few, 0 and 1, factors; of floating numbers all, all but
#: NaNs, zeros, few with halves, fractions below 1, factors, quarters within a char, unsigned
#: quarters, parts of 1 alone, unsigned factors.
INTEGER_DATA = ("all", "few", "truths", "factors")
FLOATING_DATA = ("all", "numbers", "zeros", "few", "fractions", "factors", "quarters", "unsigned", "parts", "scales")


def prelude() -> str:
    """The data of all types, filled before the first kernel, and how results are recorded."""
    lines = ['#include "check.h"', "#include <limits.h>", "#include <float.h>", f"enum {{ N = {LENGTH}, M = {ROWS} }};"]
    fill = []
    for type_ in TYPES:
        for data in FLOATING_DATA if type_.floating else INTEGER_DATA:
            lines.append(f"static {type_.spelling} {data}_{type_.name}[N];")
            fill.append(f"        {data}_{type_.name}[i] = ({type_.spelling}){_element(type_, data)};")
        lines.append(_record(type_))
    return "\n".join(
        [*lines, _VALUES, "static void fill(void)", "{", "    for (int i = 0; i < N; ++i) {", *fill, "    }", "}", ""]
    )


_VALUES = """
static uint64_t at(int i, int k) { return check_random((uint64_t)(i * 64 + k)); }
static uint64_t extreme(int i, int k)
{
    static const uint64_t edges[] = {0, 1, 2, 127, 128, 255, 32767, 32768, 65535, 2147483647, 2147483648u, 4294967295u, INT64_MAX,
                                     (uint64_t)INT64_MAX + 1, UINT64_MAX, UINT64_MAX - 1, (uint64_t)-128, (uint64_t)-32768, (uint64_t)INT32_MIN};
    return at(i, k) % 3 ? at(i, k + 1) : edges[at(i, k + 2) % (sizeof edges / sizeof edges[0])];
}
static double special(int i, int k, int nan)
{
    static const double edges[] = {0.0, -0.0, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN, -4.9e-324, FLT_MAX, -FLT_MIN, 1, -1, 16777217};
    if (nan && at(i, k) % 11 == 0)
        return NAN;
    return at(i, k) % 3 ? ((double)(int64_t)at(i, k + 1)) * 0x1p-60 : edges[at(i, k + 2) % (sizeof edges / sizeof edges[0])];
}
static int filled;
"""


def _element(type_: Number, data: str) -> str:
    seed = 3 * (TYPES.index(type_) % 20)
    some = f"at(i, {seed})"
    if type_.floating:
        return {
            "all": f"special(i, {seed}, 1)",
            "numbers": f"special(i, {seed}, 0)",
            "zeros": f"({some} % 2 ? 0.0 : -0.0)",
            "few": f"((double)(int)({some} % 41) - 20) * 0.5",
            "fractions": f"({some} % 97 == 0 ? 1.0 : ((double)(int)({some} % 7) - 3) * 0.25)",
            "factors": f"({some} % 83 == 0 ? 1.5 : {some} % 79 == 0 ? 0.5 : {some} % 61 == 0 ? -1.0 : 1.0)",
            "parts": f"((double)(int)({some} % 7) - 3) * 0.25",
            "scales": f"({some} % 83 == 0 ? 1.5 : {some} % 79 == 0 ? 0.5 : 1.0)",
            "quarters": f"((double)(int)({some} % 401) - 200) * 0.25",
            "unsigned": f"((double)(int)({some} % 401)) * 0.25",
        }[data]
    return {
        "all": f"extreme(i, {seed})",
        "few": f"((int)({some} % 7) - 3)" if type_.signed else f"({some} % 4)",
        "truths": f"({some} % 3 == 0)",
        "factors": f"({some} % 83 == 0 ? 2 : {some} % 61 == 0 ? {-1 if type_.signed else 3} : 1)",
    }[data]


def _record(type_: Number) -> str:
    """Records values by their bytes, without a long double's padding; all NaNs are equal."""
    spelling, size = type_.spelling, 10 if type_.bits == 128 else f"sizeof({type_.spelling})"
    number = "if (x[k] != x[k]) memset(to, 0x7f, 10); else " if type_.floating else ""
    return (
        f"static void keep_{type_.name}(const char *label, const {spelling} *x, int n)\n{{\n"
        f"    unsigned char *bytes = check_allocate((size_t)n, 16);\n    for (int k = 0; k < n; ++k) {{\n"
        f"        unsigned char *to = bytes + 16 * k;\n        {number}memcpy(to, &x[k], {size});\n    }}\n"
        f"    check_record(label, bytes, (size_t)n * 16);\n    free(bytes);\n}}"
    )


def usual(left: Number, right: Number) -> Number:
    """The usual arithmetic conversions."""
    floating = [type_ for type_ in (left, right) if type_.floating]
    if floating:
        return max(floating, key=lambda type_: type_.bits)
    left, right = (INT if type_.bits < 32 else type_ for type_ in (left, right))
    if left.bits != right.bits:
        return max(left, right, key=lambda type_: type_.bits)
    return right if left.signed else left


@dataclass(frozen=True)
class Term:
    """What is reduced: its text, its type, and the data that it reads."""

    text: str
    type: Number
    data: str
    exact: Number
    """the type of the data"""


class _Kernel:
    """Draws one kernel."""

    def __init__(self, seed: int, types: tuple[Number, ...]) -> None:
        self.seed = seed
        self.types = types
        self.chance = random.Random(seed)
        self.calls = False
        # Every pair of types comes once in so many kernels; adjacent kernels have different pairs.
        pair = seed * 89 % len(types) ** 2
        self.type, self.of = types[pair // len(types)], types[pair % len(types)]

    # -- terms

    def choose(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def term(self, operator: str, type_: Number, of: Number, vouched: bool = False, index: str = "i") -> Term:
        """A term for `accumulator operator= term`; `vouched`: a clause frees the order."""
        data = self.chance.choice(self.data_for(operator, type_, of, vouched))
        text, term_type = f"{data}_{of.name}[{index}]", of
        drawn = self.chance.random()
        if drawn < 0.08 and operator not in ("*",):
            return Term(f"({text} > {self.choose('0', '1', '2')})", INT, data, of)
        if drawn < 0.14 and not of.floating and data != "all":
            wide = self.chance.choice([type_ for type_ in self.types if type_.bits >= 32 and type_.signed])
            if not (wide.floating and not type_.floating):
                return Term(f"({wide.spelling}){text}", wide, data, of)
        if drawn < 0.18 and of.floating and of.bits <= 64 and operator in ("min", "max"):
            call = "fabsf" if of.bits == 32 else "fabs"
            return Term(f"{call}({text})", of, data, of)
        if drawn < 0.22 and operator in ("|", "&", "^"):
            return Term(f"({text} & 3)", usual(of, INT), data, of)
        if drawn < 0.26 and operator in ("+", "-") and data in ("few", "truths"):
            return Term(f"-{text}" if type_.signed and of.signed else f"!{text}", of if of.signed else INT, data, of)
        return Term(text, term_type, data, of)

    def data_for(self, operator: str, type_: Number, of: Number, vouched: bool) -> list[str]:
        """The data that cause no forbidden overflow."""
        common = usual(type_, of)
        if operator in ("+", "-", "*") and type_.floating:
            if of.floating:
                exact = ["few", "fractions"] if operator != "*" else ["factors"]
                return exact if vouched else ["all", "numbers", "zeros", *exact]
            exact = ["few", "truths"] if operator != "*" else ["factors"]
            return exact if vouched else ["all", *exact]
        if operator in ("&&", "||"):
            return list(FLOATING_DATA if of.floating else INTEGER_DATA)
        if operator in ("min", "max"):
            if of.floating and not type_.floating and not type_.truth:
                return ["quarters", "unsigned"] if type_.signed else ["unsigned"]
            if of.floating:
                # With a clause, any of these zeros and NaNs may stay.
                return ["quarters", "few", "unsigned"] if vouched else list(FLOATING_DATA)
            return list(INTEGER_DATA)
        if of.floating:
            if type_.truth:
                return list(FLOATING_DATA)
            if not type_.signed:
                return ["scales"] if operator == "*" else ["parts"]
            return ["factors"] if operator == "*" else ["fractions"]
        if operator in ("&", "|", "^") or not common.signed:
            return list(INTEGER_DATA)
        narrow = type_.bits < 32 and of.bits < 32
        if operator == "*":
            return ["few", "factors", "truths"] if type_.bits < 32 else ["factors"]
        return list(INTEGER_DATA) if narrow else ["few", "truths"]

    # -- updates

    def update(self, place: str, type_: Number, of: Number, index: str = "i") -> tuple[str, str]:
        """A statement that updates `place`, and the operator for a clause ("" if none may)."""
        kind = self.chance.random()
        if kind < 0.50:
            return self.arithmetic(place, type_, of, index)
        if kind < 0.56:
            return f"{self.choose('++', '--')}{place};" if self.chance.random() < 0.5 else f"{place}++;", ""
        if kind < 0.66:
            return self.logical(place, type_, of, index)
        return self.extremum(place, type_, of, index)

    def arithmetic(self, place: str, type_: Number, of: Number, index: str) -> tuple[str, str]:
        both = not type_.floating and not of.floating
        operator = self.choose("+", "+", "-", "*", "&", "|", "^") if both else self.choose("+", "-", "*")
        fits = type_.floating or (not type_.truth and not of.floating)
        vouched = fits and self.chance.random() < 0.4
        term = self.term(operator, type_, of, vouched, index)
        is_free = vouched and (type_.floating or not term.type.floating)
        clause = ("+" if operator == "-" else operator) if is_free else ""
        form = self.chance.random()
        if form < 0.40:
            return f"{place} {operator}= {term.text};", clause
        if form < 0.60:
            return f"{place} = {place} {operator} {term.text};", clause
        if form < 0.72:
            if operator == "-" and term.type.floating and not type_.signed:
                return "", ""
            if operator == "-":
                # Not a reduction: the sign changes in each step. Small terms keep it small.
                return (
                    (f"{place} = {term.text} - {place};", "")
                    if term.data != "all" or not usual(type_, of).signed
                    else ("", "")
                )
            return f"{place} = {term.text} {operator} {place};", clause
        if form < 0.80 and operator in ("+", "-", "&", "|", "^"):
            next_term = self.term(operator, type_, of, vouched, index)
            if next_term.type.floating and not type_.floating:
                next_term = term
            if term.data not in ("fractions", "parts"):
                return f"{place} = {place} {operator} {term.text} {operator} {next_term.text};", clause
        if form < 0.90:
            return self.with_casts(place, type_, operator, term), ""
        return f"{place} = ({type_.spelling})({place} {operator} {term.text});", clause

    def with_casts(self, place: str, type_: Number, operator: str, term: Term) -> str:
        """The accumulator, or the sum, converted on its way."""
        if type_.floating or term.type.floating:
            wanted = [kind for kind in self.types if kind.floating]
            if not type_.floating:
                return f"{place} {operator}= {term.text};"
        else:
            # Wide signed values may not overflow, whatever the accumulator holds.
            wide = [
                kind
                for kind in self.types
                if not kind.floating and not (kind.bits < 32 and term.data == "all" and operator == "*")
            ]
            wanted = [kind for kind in wide if not (kind.signed and kind.bits > type_.bits and operator == "*")]
            if usual(type_, term.type).signed and type_.bits >= 32:
                wanted = [kind for kind in wanted if kind.bits < 32 or kind.signed]
            if term.data == "all" and operator in ("+", "-", "*"):
                wanted = [kind for kind in wanted if not usual(kind, term.type).signed] or [type_]
        cast = self.chance.choice(wanted or [type_]).spelling
        if self.chance.random() < 0.5:
            return f"{place} = ({cast}){place} {operator} {term.text};"
        return f"{place} = ({cast})({place} {operator} {term.text});"

    def logical(self, place: str, type_: Number, of: Number, index: str) -> tuple[str, str]:
        operator = self.choose("&&", "||")
        term = self.term(operator, type_, of, False, index)
        text = f"{place} {operator} {term.text}" if self.chance.random() < 0.6 else f"{term.text} {operator} {place}"
        return f"{place} = {text};", operator if type_.truth and self.chance.random() < 0.5 else ""

    def extremum(self, place: str, type_: Number, of: Number, index: str) -> tuple[str, str]:
        operator = self.choose("min", "max")
        vouched = self.chance.random() < 0.25 and type_ == of
        term = self.term(operator, type_, of, vouched, index)
        value, clause = term.text, operator if vouched and term.type == type_ else ""
        if term.type.floating and not type_.floating and not type_.truth and term.data not in ("quarters", "unsigned"):
            return "", ""
        less, greater = ("<", ">") if operator == "min" else (">", "<")
        strict = self.choose("", "=")
        form = self.choose(
            "if", "swapped", "negated", "braces", "new", "old", "mirrored", "call", "call", "cast", "kept"
        )
        if form == "call" and (type_.floating or term.type.floating):
            suffix = {32: "f", 128: "l"}.get(usual(type_, term.type).bits, "")
            arguments = self.choose(f"{place}, {value}", f"{value}, {place}")
            self.calls = True
            return f"{place} = f{operator}{suffix}({arguments});", clause
        # Without a clause each form is C's; a clause needs a form that NaNs and equal values do not
        # change.
        texts = {
            "if": f"if ({value} {less}{strict} {place}) {place} = {value};",
            "swapped": f"if ({place} {greater}{strict} {value}) {place} = {value};",
            "negated": f"if (!({place} {less}{strict} {value})) {place} = {value};",
            "braces": f"if ({value} {less}{strict} {place}) {{ {{ {place} = ({type_.spelling}){value}; }} }}",
            "new": f"{place} = {value} {less}{strict} {place} ? {value} : {place};",
            "old": f"{place} = {place} {less}{strict} {value} ? {place} : {value};",
            "mirrored": f"{place} = {place} {greater}{strict} {value} ? {value} : {place};",
            "cast": f"if (({type_.spelling}){value} {less}{strict} {place}) {place} = ({type_.spelling}){value};",
            "kept": f"{place} = {value} {greater}{strict} {place} ? {place} : {value};",
            "call": f"if ({value} {less} {place}) {place} = {value};",
        }
        return texts[form], "" if form == "negated" else clause

    # -- loops

    def first(self, type_: Number) -> str:
        """The initial value of the accumulator."""
        if type_.floating:
            # C leaves open which of 0.0 and -0.0 fmin and fmax give.
            return self.choose("0", "0" if self.calls else "-0.0", "1", "-1", "2.5", "NAN", "-INFINITY", "1e30", "3")
        return (
            self.choose("0", "1", "1", "2", "3", "0")
            if not type_.signed
            else self.choose("0", "1", "-1", "2", "3", "-3")
        )

    def condition(self, index: str = "i") -> str:
        type_ = self.chance.choice(self.types)
        data = self.chance.choice(("few", "all"))
        return f"{data}_{type_.name}[{index}] {self.choose('>', '<', '!=', '>=')} {self.choose('0', '1', '2')}"

    def case(self) -> Case:
        shape = self.choose(
            "plain", "plain", "plain", "plain", "conditional", "nested", "two", "rows", "columns", "member",
            "element", "pointer", "global", "arg", "scan", "exclusive", "running", "temporary", "count", "choice",
            "array scan", "ordered", "inner", "inner", "product",
        )  # fmt: skip
        while True:
            text = getattr(self, "_" + shape.replace(" ", "_"))()
            if text is not None:
                break
        name = f"reduction_{self.seed}"
        helper, body, records = text
        run = f"{helper}CASE({name})\n{{\n    static const int lengths[] = {{0, 1, 37, N}};\n"
        run += "    if (!filled++)\n        fill();\n"
        loop = "    for (int c = 0; c < 4; ++c) {\n        const int n = lengths[c];\n"
        return Case(
            name, f"{self.type.spelling} of {self.of.spelling}, {shape}", f"{run}{loop}{body}{records}    }}\n}}\n"
        )

    def _keep(self, type_: Number, name: str, count: str = "1") -> str:
        place = name if count != "1" else f"&{name}"
        return f'        keep_{type_.name}("{name}", {place}, {count});\n'

    def _pragma(self, clauses: str = "") -> str:
        return f"#pragma tilek kernel{clauses}\n"

    def _said(self, operator: str, name: str = "w") -> str:
        return f" reduction({operator}: {name})" if operator else ""

    def _simple(self, wrap: str, nested: bool = False) -> tuple[str, str, str] | None:
        update, clause = self.update("w", self.type, self.of, "j" if nested else "i")
        if not update:
            return None
        start = self.first(self.type) if clause not in ("*",) else "1"
        if clause in ("+", "*", "min", "max") and self.type.floating:
            start = self.choose("0", "1", "2.5")
        body = f"        {self.type.spelling} w = ({self.type.spelling}){start};\n{self._pragma(self._said(clause))}"
        body += wrap.format(update=update, condition=self.condition("j" if nested else "i"))
        return "", body, self._keep(self.type, "w")

    def _plain(self) -> tuple[str, str, str] | None:
        return self._simple("        for (int i = 0; i < n; i++)\n            {update}\n")

    def _ordered(self) -> tuple[str, str, str] | None:
        return self._simple("        for (int i = n - 1; i >= 0; i--) {{\n            {update}\n        }}\n")

    def _conditional(self) -> tuple[str, str, str] | None:
        return self._simple(
            "        for (int i = 0; i < n; i++)\n"
            "            if ({condition}) {{\n                {update}\n            }}\n"
        )

    def _nested(self) -> tuple[str, str, str] | None:
        return self._simple(
            "        for (int i = 0; i < n / M; i++)\n"
            "            for (int j = i; j < i + M; j++)\n                {update}\n",
            True,
        )

    def _two(self) -> tuple[str, str, str] | None:
        first, clause = self.update("w", self.type, self.of)
        other_type = self.chance.choice(self.types)
        second, also = self.update("v", other_type, self.of)
        if not first or not second or clause or also:
            return None
        body = f"        {self.type.spelling} w = ({self.type.spelling}){self.first(self.type)};\n"
        body += f"        {other_type.spelling} v = ({other_type.spelling}){self.first(other_type)};\n{self._pragma()}"
        body += f"        for (int i = 0; i < n; i++) {{\n            {first}\n            {second}\n        }}\n"
        return "", body, self._keep(self.type, "w") + self._keep(other_type, "v")

    def _array(self, place: str, inner: str) -> tuple[str, str, str] | None:
        update, clause = self.update(place, self.type, self.of, inner)
        if not update or clause:
            return None
        body = f"        static {self.type.spelling} r[M];\n        for (int i = 0; i < M; i++)\n"
        body += f"            r[i] = ({self.type.spelling}){self.first(self.type)};\n{self._pragma()}"
        body += "        for (int i = 0; i < n / M; i++)\n            for (int j = 0; j < M; j++)\n"
        body += f"                {update}\n"
        return "", body, self._keep(self.type, "r", "M")

    def _rows(self) -> tuple[str, str, str] | None:
        array = self._array("r[i]", "i * M + j")
        # Of M rows, n / M have terms.
        return None if array is None else (array[0], array[1].replace("n / M", "(n / M > M ? M : n / M)"), array[2])

    def _columns(self) -> tuple[str, str, str] | None:
        return self._array("r[j]", "i * M + j")

    def _inner(self) -> tuple[str, str, str] | None:
        """A sum of each row, in a variable of the outer loop's body."""
        update, clause = self.update("w", self.type, self.of, "i * M + j")
        if not update or clause:
            return None
        body = f"        static {self.type.spelling} r[N / M];\n        memset(r, 0, sizeof r);\n{self._pragma()}"
        body += (
            f"        for (int i = 0; i < n / M; i++) {{\n            {self.type.spelling} w = ({self.type.spelling})"
        )
        body += f"{self.first(self.type)};\n            for (int j = 0; j < M; j++)\n                {update}\n"
        return "", f"{body}            r[i] = w;\n        }}\n", self._keep(self.type, "r", "N / M")

    def _product(self) -> tuple[str, str, str] | None:
        """A product of matrices of three types, one of them of 0 and 1."""
        other_type = self.chance.choice([kind for kind in self.types if not kind.floating])
        (data, *_) = self.data_for("+", self.type, self.of, True)
        term = f"{data}_{self.of.name}[i * M + k] * truths_{other_type.name}[k * M + j]"
        body = f"        static {self.type.spelling} p[M][M];\n        memset(p, 0, sizeof p);\n{self._pragma()}"
        body += "        for (int i = 0; i < n / M % M; i++)\n            for (int j = 0; j < M; j++)\n"
        body += f"                for (int k = 0; k < M; k++)\n                    p[i][j] += {term};\n"
        return "", body, self._keep(self.type, "*p", "M * M")

    def _placed(self, declare: str, place: str, helper: str = "") -> tuple[str, str, str] | None:
        update, clause = self.update(place, self.type, self.of)
        if not update or clause:
            return None
        body = f"        {declare}\n        {place} = ({self.type.spelling}){self.first(self.type)};\n{self._pragma()}"
        body += (
            f"        for (int i = 0; i < n; i++)\n            {update}\n        {self.type.spelling} w = {place};\n"
        )
        return helper, body, self._keep(self.type, "w")

    def _member(self) -> tuple[str, str, str] | None:
        return self._placed(f"struct {{ int other; {self.type.spelling} sum; }} s = {{0}};", "s.sum")

    def _element(self) -> tuple[str, str, str] | None:
        return self._placed(f"{self.type.spelling} a[5] = {{0}};", "a[3]")

    def _pointer(self) -> tuple[str, str, str] | None:
        return self._placed(f"{self.type.spelling} of, *p = &of;", "(*p)")

    def _global(self) -> tuple[str, str, str] | None:
        name = f"total_{self.seed}"
        return self._placed("(void)0;", name, f"static {self.type.spelling} {name};\n")

    def _arg(self) -> tuple[str, str, str] | None:
        term = self.term("min", self.type, self.type)
        less = self.choose("<", "<=", ">", ">=")
        test = self.choose(f"{term.text} {less} w", f"w {less} {term.text}", f"!({term.text} {less} w)")
        body = f"        {self.type.spelling} w = ({self.type.spelling}){self.first(self.type)};\n"
        body += f"        int k = -1;\n{self._pragma()}"
        body += f"        for (int i = 0; i < n; i++)\n            if ({test}) {{\n"
        body += f"                w = {term.text};\n                k = i;\n            }}\n"
        return "", body, self._keep(self.type, "w") + self._keep(INT, "k")

    def _scanned(self, before: str, after: str) -> tuple[str, str, str] | None:
        update, clause = self.update("w", self.type, self.of)
        if not update or clause:
            return None
        body = f"        static {self.type.spelling} y[N];\n        memset(y, 0, sizeof y);\n"
        body += f"        {self.type.spelling} w = ({self.type.spelling}){self.first(self.type)};\n{self._pragma()}"
        body += f"        for (int i = 0; i < n; i++) {{\n{before}            {update}\n{after}        }}\n"
        return "", body, self._keep(self.type, "y", "N") + self._keep(self.type, "w")

    def _scan(self) -> tuple[str, str, str] | None:
        return self._scanned("", "            y[i] = w;\n")

    def _exclusive(self) -> tuple[str, str, str] | None:
        return self._scanned("            y[i] = w;\n", "")

    def _running(self) -> tuple[str, str, str] | None:
        return self._scanned("", f"            if ({self.condition()})\n                y[i] = w;\n")

    def _array_scan(self) -> tuple[str, str, str] | None:
        update, clause = self.update("y[i]", self.type, self.of)
        if not update or clause:
            return None
        body = f"        static {self.type.spelling} y[N];\n        memset(y, 0, sizeof y);\n{self._pragma()}"
        body += (
            f"        for (int i = 1; i < n; i++) {{\n            y[i] = y[i - 1];\n            {update}\n        }}\n"
        )
        return "", body, self._keep(self.type, "y", "N")

    def _temporary(self) -> tuple[str, str, str] | None:
        """A value that is computed first, mostly the absolute value of a difference."""
        operator = self.choose("min", "max")
        floating = [type_ for type_ in self.types if type_.floating]
        of = self.of if self.of.floating else self.chance.choice(floating)
        type_ = self.type if self.type.floating else of
        data = self.choose("all", "numbers", "zeros", "few")
        call = {32: "fabsf", 64: "fabs", 128: "fabsl"}[of.bits]
        difference = f"{data}_{of.name}[i] - few_{of.name}[i]"
        value = self.choose(
            f"{call}({difference})", f"{call}({data}_{of.name}[i])", f"({difference}) * ({difference})", difference
        )
        less = self.choose("<", ">") if operator == "min" else ">"
        suffix = {32: "f", 64: "", 128: "l"}[type_.bits]
        update = self.choose(
            f"if (d {less} w) w = d;",
            f"w = d {less} w ? d : w;",
            f"w = f{operator}{suffix}(w, d);",
            f"w = f{operator}{suffix}(d, w);",
        )
        self.calls = f"f{operator}" in update
        declared = self.choose(f"const {of.spelling} d = {value};", f"{of.spelling} d; d = {value};")
        body = f"        {type_.spelling} w = ({type_.spelling}){self.first(type_)};\n{self._pragma()}"
        body += f"        for (int i = 0; i < n; i++) {{\n            {declared}\n            {update}\n        }}\n"
        return "", body, self._keep(type_, "w")

    def _count(self) -> tuple[str, str, str] | None:
        counted = self.condition()
        update = self.choose(
            f"if ({counted}) w++;", f"w += {counted};", f"w += ({counted}) ? 1 : 0;", f"w -= {counted};"
        )
        start = "0" if self.type.floating else self.first(self.type)
        body = f"        {self.type.spelling} w = ({self.type.spelling}){start};\n{self._pragma()}"
        body += f"        for (int i = 0; i < n; i++)\n            {update}\n"
        return "", body, self._keep(self.type, "w")

    def _choice(self) -> tuple[str, str, str] | None:
        operator = self.choose("+", "*")
        term = self.term(operator, self.type, self.of)
        wide = usual(self.type, term.type)
        if not self.type.floating and wide.floating:
            return None
        body = f"        {self.type.spelling} w = ({self.type.spelling})1;\n{self._pragma()}"
        body += (
            f"        for (int i = 0; i < n; i++)\n            w = {self.condition()} ? w {operator} {term.text} : w;\n"
        )
        return "", body, self._keep(self.type, "w")


def random_reduction(seed: int, types: tuple[Number, ...] = TYPES) -> Case:
    """The kernel with this number, of these types."""
    return _Kernel(seed, types).case()


def case_file(cases: tuple[Case, ...]) -> CaseFile:
    """A program of some kernels."""
    return CaseFile("random_reductions.c", prelude(), cases)
