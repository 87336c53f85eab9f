"""Syntax trees of C++ files, by libclang (of the clang that the tests need anyway): the part of its C interface that finding places
for faults needs. Places are offsets in the file's bytes."""

import ctypes
import ctypes.util
import dataclasses
import functools
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint, c_void_p

LIBRARY = "libclang-19.so.1"

# Kinds of cursors (clang-c/Index.h).
VARIABLE, CALL, INTEGER, UNARY, BINARY, COMPOUND_ASSIGN, CONDITIONAL = 9, 103, 106, 112, 114, 115, 116
MEMBER, REFERENCE, UNEXPOSED, LAMBDA = 102, 101, 100, 144
BLOCK, CASE, DEFAULT, IF, SWITCH, WHILE, DO, FOR, RETURN, RANGE_FOR, DECLARATION = 202, 203, 204, 205, 206, 207, 208, 209, 214, 225, 231
FUNCTIONS = (8, 21, 24, 25, 26, 30)  # function, method, constructor, destructor, conversion, template
MACRO_EXPANSION = 502
BOOL = 3  # a kind of types


def is_expression(kind: int) -> bool:
    return 100 <= kind < 200


class _Cursor(Structure):
    _fields_ = [("kind", c_int), ("xdata", c_int), ("data", c_void_p * 3)]


class _Location(Structure):
    _fields_ = [("ptr_data", c_void_p * 2), ("int_data", c_uint)]


class _Range(Structure):
    _fields_ = [("ptr_data", c_void_p * 2), ("begin_int_data", c_uint), ("end_int_data", c_uint)]


class _String(Structure):
    _fields_ = [("data", c_void_p), ("private_flags", c_uint)]


class _Type(Structure):
    _fields_ = [("kind", c_int), ("data", c_void_p * 2)]


_Visitor = ctypes.CFUNCTYPE(c_int, _Cursor, _Cursor, c_void_p)
_CONTINUE = 1


def available() -> bool:
    try:
        _library()
    except OSError:
        return False
    return True


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(LIBRARY)
    for name, result, arguments in (
        ("clang_createIndex", c_void_p, [c_int, c_int]),
        ("clang_parseTranslationUnit", c_void_p, [c_void_p, c_char_p, POINTER(c_char_p), c_int, c_void_p, c_uint, c_uint]),
        ("clang_disposeTranslationUnit", None, [c_void_p]),
        ("clang_getTranslationUnitCursor", _Cursor, [c_void_p]),
        ("clang_visitChildren", c_uint, [_Cursor, _Visitor, c_void_p]),
        ("clang_getCursorExtent", _Range, [_Cursor]),
        ("clang_getRangeStart", _Location, [_Range]),
        ("clang_getRangeEnd", _Location, [_Range]),
        ("clang_getCursorLocation", _Location, [_Cursor]),
        ("clang_getExpansionLocation", None, [_Location, c_void_p, c_void_p, c_void_p, POINTER(c_uint)]),
        ("clang_getFileLocation", None, [_Location, c_void_p, c_void_p, c_void_p, POINTER(c_uint)]),
        ("clang_Location_isFromMainFile", c_int, [_Location]),
        ("clang_getCursorSpelling", _String, [_Cursor]),
        ("clang_getCursorType", _Type, [_Cursor]),
        ("clang_getCanonicalType", _Type, [_Type]),
        ("clang_getTypeSpelling", _String, [_Type]),
        ("clang_getCString", c_char_p, [_String]),
        ("clang_disposeString", None, [_String]),
        ("clang_getNumDiagnostics", c_uint, [c_void_p]),
        ("clang_getDiagnostic", c_void_p, [c_void_p, c_uint]),
        ("clang_getDiagnosticSeverity", c_uint, [c_void_p]),
        ("clang_getDiagnosticLocation", _Location, [c_void_p]),
        ("clang_getDiagnosticSpelling", _String, [c_void_p]),
        ("clang_disposeDiagnostic", None, [c_void_p]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _text(string: _String) -> str:
    text = (_library().clang_getCString(string) or b"").decode()
    _library().clang_disposeString(string)
    return text


def _offset(location: _Location) -> int:
    offset = c_uint()
    _library().clang_getExpansionLocation(location, None, None, None, byref(offset))
    return offset.value


class Node:
    """A declaration, statement or expression; `begin` to `end` is its text, as the file has it before macros are expanded."""

    def __init__(self, cursor: _Cursor):
        library = _library()
        extent = library.clang_getCursorExtent(cursor)
        self._cursor = cursor
        self.kind = cursor.kind
        self.begin = _offset(library.clang_getRangeStart(extent))
        self.end = _offset(library.clang_getRangeEnd(extent))

    @functools.cached_property
    def name(self) -> str:
        return _text(_library().clang_getCursorSpelling(self._cursor))

    @functools.cached_property
    def type(self) -> str:
        library = _library()
        return _text(library.clang_getTypeSpelling(library.clang_getCanonicalType(library.clang_getCursorType(self._cursor))))

    @property
    def in_main_file(self) -> bool:
        library = _library()
        return bool(library.clang_Location_isFromMainFile(library.clang_getCursorLocation(self._cursor)))

    @functools.cached_property
    def children(self) -> list["Node"]:
        found: list[_Cursor] = []

        def visit(cursor: _Cursor, _parent: _Cursor, _data: int) -> int:
            copy = _Cursor()
            ctypes.pointer(copy)[0] = cursor
            found.append(copy)
            return _CONTINUE

        _library().clang_visitChildren(self._cursor, _Visitor(visit), None)
        return [Node(cursor) for cursor in found]


@dataclasses.dataclass
class Unit:
    """A file that has been parsed. `top` are its own declarations and macro expansions, `errors` offsets with messages; those of
    headers are at -1."""

    top: list[Node]
    errors: list[tuple[int, str]]


def parse(path: str, arguments: list[str]) -> Unit:
    """Parses a file as the compiler's `arguments` say. The nodes live as long as the process."""
    library = _library()
    array = (c_char_p * len(arguments))(*(argument.encode() for argument in arguments))
    detailed_preprocessing_record, keep_going = 0x01, 0x200
    unit = library.clang_parseTranslationUnit(
        library.clang_createIndex(0, 0), path.encode(), array, len(arguments), None, 0, detailed_preprocessing_record | keep_going)
    if not unit:
        raise RuntimeError(f"libclang cannot parse {path}")
    found: list[Node] = []

    def visit(cursor: _Cursor, _parent: _Cursor, _data: int) -> int:
        if library.clang_Location_isFromMainFile(library.clang_getCursorLocation(cursor)):
            copy = _Cursor()
            ctypes.pointer(copy)[0] = cursor
            found.append(copy)
        return _CONTINUE

    library.clang_visitChildren(library.clang_getTranslationUnitCursor(unit), _Visitor(visit), None)
    errors = []
    for index in range(library.clang_getNumDiagnostics(unit)):
        diagnostic = library.clang_getDiagnostic(unit, index)
        if library.clang_getDiagnosticSeverity(diagnostic) >= 3:
            location = library.clang_getDiagnosticLocation(diagnostic)
            own = library.clang_Location_isFromMainFile(location)
            errors.append((_offset(location) if own else -1, _text(library.clang_getDiagnosticSpelling(diagnostic))))
        library.clang_disposeDiagnostic(diagnostic)
    return Unit([Node(cursor) for cursor in found], errors)
