"""How much a test file tests: cheap counts of its tests, its assertions and its marks to skip, in the usual languages.

Plain words are counted, because a project may have thousands of test files. Both looks at a file count in the same way,
so a word that only sounds like a test does no harm.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import astuple


class _Words(msgspec.Struct, frozen=True):
    tests: tuple[str, ...]
    assertions: tuple[str, ...]
    skips: tuple[str, ...]


_PYTHON = _Words(
    ("def test",),
    ("assert", "raises("),
    (
        *("mark.skip", "mark.xfail", "pytest.skip", "pytest.xfail", "importorskip", "unittest.skip", "skipTest("),
        *("SkipTest", "expectedFailure", "collect_ignore", "pytest_collection_modifyitems", "pytest_ignore_collect"),
        *("pytest_runtest_", "pytest_sessionfinish", "_exit("),
    ),
)
_AROUND = ("load_tests", "sys.exit", "SystemExit", "exitstatus", "atexit", "sys.modules")
"""Words in files around tests that can keep them from running; in a test itself they may be its subject."""
_SCRIPT = _Words(
    (
        *(f"{word}({quote}" for word in ("it", "test", "specify", "scenario") for quote in "'\"`"),
        *("it.each", "test.each", "def test_", "it do", "it '", 'it "'),
    ),
    ("expect", "assert", ".should", "must_", "refute"),
    (
        *(".skip(", ".only(", ".todo(", ".failing(", ".fixme(", "xit(", "xit ", "xdescribe", "xtest(", "xcontext"),
        *("fdescribe", " fit(", "\nfit(", "\tfit(", "this.skip", " pending", " skip ", " skip\n", " skip("),
    ),
)
_GO = _Words(
    ("func Test", "func Fuzz", "func Example"), ("t.Error", "t.Fatal", "t.Fail", "assert.", "require."), ("t.Skip",)
)
_RUST = _Words(("#[test", "::test]", "::test(", "#[rstest"), ("assert", "panic!"), ("#[ignore",))
_CLASSES = _Words(
    ("@Test", "@ParameterizedTest", "@RepeatedTest", "[Fact", "[Theory", "[Test", "func test", "function test", "it("),
    ("assert", "Assert", "expect", "should", "verify("),
    ("@Disabled", "@Ignore", "[Ignore", "Skip =", "Skip=", "XCTSkip", "markTestSkipped", "markTestIncomplete"),
)
_NATIVE = _Words(
    ("TEST(", "TEST_F(", "TEST_P(", "TEST_CASE(", "void test", "SECTION("),
    ("ASSERT_", "EXPECT_", "assert", "CHECK(", "REQUIRE("),
    ("GTEST_SKIP", "DISABLED_", "SKIP("),
)
_SHELL = _Words(
    ("@test ", "test_", "function test"), ("assert", "[ ", "grep ", "diff "), ("\n  skip", "\n\tskip", "\n    skip")
)
_LANGUAGES = {
    **dict.fromkeys(("py",), _PYTHON),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "coffee", "rb", "lua", "dart"), _SCRIPT),
    **dict.fromkeys(("go",), _GO),
    **dict.fromkeys(("rs",), _RUST),
    **dict.fromkeys(("java", "kt", "cs", "php", "swift", "scala", "groovy", "exs", "hs"), _CLASSES),
    **dict.fromkeys(("c", "cc", "cpp", "h", "hpp"), _NATIVE),
    **dict.fromkeys(("sh", "bats", "t", "pl"), _SHELL),
}
"""By the ending of the file's name."""

_TEST = r"def test\w*\([^)]*\)[^:\n]*:\s*"
_HOLLOW = {
    id(_PYTHON): re.compile(
        rf"{_TEST}(?:\"{{3}}[^\"]*\"{{3}}\s*|\"[^\"\n]*\"\s*)?(?:pass\b|\.\.\.|return\b)"
        rf"|{_TEST}\"{{3}}[^\"]*\"{{3}}\s*(?=\n\S|\Z)|\bassert (?:True|1)[ \t]*(?=$|\n|\#)"
    ),
    id(_SCRIPT): re.compile(
        r"\b(?:it|test)\([^,\n]{1,200},\s*(?:async\s*)?(?:function\s*)?\(\w*\)\s*(?:=>\s*)?\{\s*\}"
        r"|expect\(true\)\.to(?:Be|Equal)\(true\)"
    ),
}
"""Tests without a body, and assertions that always hold, by the language."""

_BY_NAME = re.compile(
    r"(?:^|/)(?:test[_-][^/]*|[^/]*[._-](?:test|spec)|[^/]*(?:Tests?|Spec)|[^/]*_test|conftest)\.\w+$|\.bats$"
)
_IN_FOLDER = re.compile(r"(?:^|/)(?:tests?|__tests__|specs?|testing|t)/")
_COMMENTS = ("//", "-- ", "#")
_NO_COMMENTS = ("#[", "#!")


class Counts(msgspec.Struct, frozen=True):
    """What is counted in a test file."""

    tests: int = 0
    assertions: int = 0
    skips: int = 0
    hollow: int = 0
    """Tests that do nothing, and assertions that always hold."""


def may_hold_tests(path: str) -> bool:
    """By its name or its folder; what is in it decides in the second case. Rust keeps tests beside the code."""
    ending = path.rpartition(".")[2]
    if ending not in _LANGUAGES:
        return False
    return ending == "rs" or bool(_IN_FOLDER.search(path) or _BY_NAME.search(path))


def is_named_as_test(path: str) -> bool:
    """By its name alone."""
    return path.rpartition(".")[2] in _LANGUAGES and _BY_NAME.search(path) is not None


def counts(path: str, text: str) -> Counts:
    """Of a file's text. Lines that are comments do not count, so a test that is commented out is one fewer."""
    words = _LANGUAGES.get(path.rpartition(".")[2], _CLASSES)
    kept = "\n".join(line for line in text.split("\n") if not _is_comment(line))
    hollow = _HOLLOW.get(id(words))
    tests, assertions, skips = (sum(map(kept.count, group)) for group in astuple(words))
    skips += sum(map(kept.count, _AROUND)) if surrounds_tests(path) else 0
    return Counts(tests, assertions, skips, len(hollow.findall(kept)) if hollow else 0)


def surrounds_tests(path: str) -> bool:
    """A file that Python reads before the tests beside it."""
    return path.rpartition("/")[2] in {"conftest.py", "__init__.py"}


def _is_comment(line: str) -> bool:
    begins = line.lstrip()
    return begins.startswith(_COMMENTS) and not begins.startswith(_NO_COMMENTS)


def written(found: Counts) -> str:
    """As a fingerprint."""
    return " ".join(map(str, astuple(found)))


def read(fingerprint: str) -> Counts:
    """What `written` wrote; nothing for what it did not."""
    numbers = fingerprint.split()
    return Counts(*map(int, numbers)) if len(numbers) in (3, 4) and all(map(str.isdecimal, numbers)) else Counts()
