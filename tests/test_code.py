"""Structure of source code in many languages: what is defined where, what belongs to it, and where
the text of one definition is cut."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pg_grain.plpython.blocks import BLOCK, ITEM, ROW, SCOPE, Block
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.code import blocks
from pg_grain.plpython.formats.definitions import UNDECIDED, Definition, Head
from pg_grain.plpython.formats.languages import LANGUAGES
from pg_grain.plpython.pieces import Piece, Rule, is_blank
from pg_grain.plpython.reading import READERS

from documents import any_text, grows_linearly


def read(text: str, format: str, path: str = "") -> list[Block]:
    return [block for block in blocks(text, path, format) if block is not None]


def scopes(text: str, format: str, path: str = "") -> list[tuple[str, str]]:
    """The path of each scope, joined by bars, and its text without blanks around it."""
    found: list[list[str]] = []
    for block in read(text, format, path):
        if block.level == SCOPE:
            found.append(["|".join(block.path), ""])
        else:
            found[-1][1] += text[block.start : block.end]
    return [(name, content.strip()) for name, content in found]


def names(text: str, format: str, path: str = "") -> list[str]:
    return [name for name, _ in scopes(text, format, path)]


def outline(text: str, format: str) -> list[tuple[str, str]]:
    """The path of each scope, and its first line."""
    return [(name, content.splitlines()[0].strip()) for name, content in scopes(text, format)]


def borders(text: str, format: str) -> list[tuple[int, str]]:
    """The level of each block, and its text without blanks at its end."""
    return [
        (block.level, text[block.start : block.end].rstrip())
        for block in read(text, format)
        if block.level != SCOPE
    ]


def pieces(text: str, size: int, format: str, path: str = "") -> list[Piece]:
    found = chunk(text, Rule("prose", "words", size, 0), format=format, path=path)
    return [piece for piece in found if piece is not None]


def assert_tiled(text: str, found: list[Block]) -> None:
    end = found[0].start if found else len(text)
    assert is_blank(text, 0, end)
    for block in found:
        assert block.start == end
        assert (block.end == block.start) == (block.level == SCOPE)
        end = block.end
    assert end == len(text)


def test_all_languages_are_known() -> None:
    assert set(LANGUAGES) == {name for name, module in READERS.items() if module == "code"}


#: By language: a source, and the path and the first line of each scope in it.
OUTLINES: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "a template literal with a URL": (
        "javascript",
        """\
const feed = `ws://127.0.0.1:9/x/${id}/live`;

function one() {
  return 1; // note
}

function two() {
  return `a // no comment`;
}

function three() { return 3; }
""",
        [
            ("", "const feed = `ws://127.0.0.1:9/x/${id}/live`;"),
            ("one", "function one() {"),
            ("two", "function two() {"),
            ("three", "function three() { return 3; }"),
        ],
    ),
    "classes and functions of JavaScript": (
        "javascript",
        """\
import x from 'x';

export default class extends Base {
  static y = { a: 1 };
  #hidden = 1;
  constructor() { super(); }
  static async *all() { yield /x'/; }
  get size() { return 1; }
  set size(n) {}
  #own() { return `${`${1}`}`; }
  [Symbol.iterator]() { return this; }
  handle = async (event) => {
    this.x = event;
  };
  'quoted'() { }
}

const Late = class Inner {
  run() {}
};
async function* stream() {}
export const pick = (s) => s.x;
export const load = (id) => async (send) => {
  send(id);
};
export async function last() { return 1 }
""",
        [
            ("", "import x from 'x';"),
            ("default", "export default class extends Base {"),
            ("default|constructor", "constructor() { super(); }"),
            ("default|all", "static async *all() { yield /x'/; }"),
            ("default|size", "get size() { return 1; }"),
            ("default|size", "set size(n) {}"),
            ("default|#own", "#own() { return `${`${1}`}`; }"),
            ("default|[]", "[Symbol.iterator]() { return this; }"),
            ("default|handle", "handle = async (event) => {"),
            ("default", "'quoted'() { }"),
            ("Late", "const Late = class Inner {"),
            ("Late|run", "run() {}"),
            ("stream", "async function* stream() {}"),
            ("pick", "export const pick = (s) => s.x;"),
            ("load", "export const load = (id) => async (send) => {"),
            ("last", "export async function last() { return 1 }"),
        ],
    ),
    "assigned functions and exported objects": (
        "javascript",
        """\
var plain = function () {
};
exports.named = function other() { };
Tank.prototype.fill = function () {
};
tank.drain = () => {};
module.exports = {
  level: function () { return 1; },
  reset() { },
  size: 1,
};
Pump.prototype = {
  start: () => {
  },
};
export const api = {
  async get(id) { },
};
const settings = { f() { return '}' } };
""",
        [
            ("plain", "var plain = function () {"),
            ("named", "exports.named = function other() { };"),
            ("Tank|fill", "Tank.prototype.fill = function () {"),
            ("tank|drain", "tank.drain = () => {};"),
            ("", "module.exports = {"),
            ("level", "level: function () { return 1; },"),
            ("reset", "reset() { },"),
            ("", "size: 1,"),
            ("Pump", "Pump.prototype = {"),
            ("Pump|start", "start: () => {"),
            ("api", "export const api = {"),
            ("api|get", "async get(id) { },"),
            ("", "const settings = { f() { return '}' } };"),
        ],
    ),
    "functions around modules": (
        "javascript",
        """\
(function (root, make) {
  root.Tool = make();
}(this, function ($) {
  'use strict';

  function inner() {
    return 1;
  }
}));
$(document).ready(function () {
  function ready() {}
});
(async () => {
  const main = async () => {
  };
})();
app.get('/', (request) => {
  function local() {}
});
""",
        [
            ("", "(function (root, make) {"),
            ("inner", "function inner() {"),
            ("", "$(document).ready(function () {"),
            ("ready", "function ready() {}"),
            ("", "(async () => {"),
            ("main", "const main = async () => {"),
            ("", "app.get('/', (request) => {"),
        ],
    ),
    "types of TypeScript": (
        "typescript",
        """\
import type { A } from './a';
export interface Shape<T = {}> extends Base { area(x: number): { b: string }; }
export abstract class Store<T extends { id: number }> implements I {
  private readonly items = new Map<string, { a: number }>();
  constructor(private x: number, readonly y = { a: 1 }) { super(); }
  abstract find(): void;
  has<U>(this: Store<T>, u: U): u is Shape<U> { return true; }
  @Listen('x', ['$event']) on(e: Event): void { }
  static create = <T,>(x: T): Store<T> => {
    return new Store();
  };
  get first(): Record<string, { x: 1 }> { return {}; }
  private handlers: { [k: string]: () => void } = {
    a: () => { },
  };
}
export enum Color { Red = 'r{' }
namespace N.M { export function inner() { } }
export type Alias = {
  x: number;
};
declare global { interface Window { x: any } }
export function over(a: string): void;
export function over(a: any): { b: string } {
  return a < 1 && b > 2 ? a : b;
}
export const View: React.FC<Props> = ({ a, b = { c: 1 } }) => {
  return <Box<Bar> a={b} on={() => <i>it's</i>}>text's "quote {`x${1}`}</Box>;
};
let late: (x: { a: number }) => void = function (x) { };
export default async function handler(r: Request) { }
""",
        [
            ("", "import type { A } from './a';"),
            (
                "Shape",
                "export interface Shape<T = {}> extends Base { area(x: number): { b: string }; }",
            ),
            ("Store", "export abstract class Store<T extends { id: number }> implements I {"),
            (
                "Store|constructor",
                "constructor(private x: number, readonly y = { a: 1 }) { super(); }",
            ),
            ("Store", "abstract find(): void;"),
            ("Store|has", "has<U>(this: Store<T>, u: U): u is Shape<U> { return true; }"),
            ("Store|on", "@Listen('x', ['$event']) on(e: Event): void { }"),
            ("Store|create", "static create = <T,>(x: T): Store<T> => {"),
            ("Store|first", "get first(): Record<string, { x: 1 }> { return {}; }"),
            ("Store", "private handlers: { [k: string]: () => void } = {"),
            ("Color", "export enum Color { Red = 'r{' }"),
            ("N.M", "namespace N.M { export function inner() { } }"),
            ("Alias", "export type Alias = {"),
            ("", "declare global { interface Window { x: any } }"),
            ("over", "export function over(a: any): { b: string } {"),
            ("View", "export const View: React.FC<Props> = ({ a, b = { c: 1 } }) => {"),
            ("late", "let late: (x: { a: number }) => void = function (x) { };"),
            ("handler", "export default async function handler(r: Request) { }"),
        ],
    ),
    "Java": (
        "java",
        """\
package a.b;

import java.util.*;

/** Holds { things. */
@Entity(name = "x {")
public class Tank<T extends Bar> extends Base implements I<T> {
    private static final Map<String, List<T>> M = new HashMap<>() {{ put("a", 'b'); }};
    Runnable r = () -> { run(); };

    static {
        init();
    }

    public Tank(int x) {
        this.x = x;
    }

    @Override
    public <R> List<R> map(Function<? super T, ? extends R> f) throws IOException
    {
        return null;
    }

    abstract void none();
    synchronized void lock() { synchronized (this) { } }

    interface Shape {
        default double area() {
            return 0;
        }
    }
    enum Color { RED, GREEN; int v() { return 1; } }
    record Point(int x, int y) { }
    @interface Mark { String value() default "}"; }
}
""",
        [
            ("", "package a.b;"),
            ("Tank", "/** Holds { things. */"),
            ("Tank|Tank", "public Tank(int x) {"),
            ("Tank|map", "@Override"),
            ("Tank", "abstract void none();"),
            ("Tank|lock", "synchronized void lock() { synchronized (this) { } }"),
            ("Tank|Shape", "interface Shape {"),
            ("Tank|Shape|area", "default double area() {"),
            ("Tank|Color", "enum Color { RED, GREEN; int v() { return 1; } }"),
            ("Tank|Point", "record Point(int x, int y) { }"),
            ("Tank|Mark", '@interface Mark { String value() default "}"; }'),
        ],
    ),
    "C": (
        "c",
        """\
#include <a.h>

#define LOOP(x) do { \\
    run(x); \\
  } while (0)

typedef struct {
  int a;
} Name;

struct point {
  int x;
};
enum kind { A, B };
static struct point origin = {
  .x = 1,
};
static const char *names[] = { "a", "b'" };
extern int proto(int a, struct point p);
int (*pointer)(int) = 0;

struct point *make(int x, int y) {
  return 0;
}

static int
gnu_style (int a,
           int b)
{
  return a;
}

LIB_API(int) exported(int x) {
  return x;
}
static inline __attribute__((always_inline)) int one_line(void) { return 1; }
TEST(Suite, Case) {
}
""",
        [
            ("", "#include <a.h>"),
            ("Name", "typedef struct {"),
            ("point", "struct point {"),
            ("kind", "enum kind { A, B };"),
            ("", "static struct point origin = {"),
            ("make", "struct point *make(int x, int y) {"),
            ("gnu_style", "static int"),
            ("exported", "LIB_API(int) exported(int x) {"),
            (
                "one_line",
                "static inline __attribute__((always_inline)) int one_line(void) { return 1; }",
            ),
            ("TEST", "TEST(Suite, Case) {"),
        ],
    ),
    "C++": (
        "cpp",
        """\
#ifdef __cplusplus
extern "C" {
#endif
void c_side(void) {}
#ifdef __cplusplus
}
#endif

namespace a { namespace b {

template <typename T, class U = std::vector<int>>
class EXPORT Tank final : public Base<T> {
public:
  Tank() : x_(1), y_{2} {
    go();
  }
  ~Tank() {}
  Tank& operator=(const Tank&) & { return *this; }
  bool operator<(const Tank& o) const { return x_ < o.x_; }
  void operator()(int x) const { }
  explicit operator bool() const { return true; }
  int size() const noexcept;
  std::function<void(int)> get(int a = {}) {
    return [](int x) { return x; };
  }
  enum Kind { X, Y };
 private:
  int x_ = 1'000'000;
};

}}  // namespace a::b

std::string Tank::name(int x) const
{
  return "a";
}

void ns::Tank<T>::drain() { }
Tank::Tank(int x)
    : a_(x),
      b_{x}
{
}
template <typename T>
  requires std::integral<T>
T twice(T x) { return x + x; }
enum class E : int { X };
""",
        [
            ("", "#ifdef __cplusplus"),
            ("c_side", "void c_side(void) {}"),
            ("", "#ifdef __cplusplus"),
            ("a", "namespace a { namespace b {"),
            ("a|b|Tank", "template <typename T, class U = std::vector<int>>"),
            ("a|b|Tank|Tank", "public:"),
            ("a|b|Tank|~Tank", "~Tank() {}"),
            ("a|b|Tank|operator=", "Tank& operator=(const Tank&) & { return *this; }"),
            (
                "a|b|Tank|operator<",
                "bool operator<(const Tank& o) const { return x_ < o.x_; }",
            ),
            ("a|b|Tank|operator()", "void operator()(int x) const { }"),
            ("a|b|Tank|operator bool", "explicit operator bool() const { return true; }"),
            ("a|b|Tank", "int size() const noexcept;"),
            ("a|b|Tank|get", "std::function<void(int)> get(int a = {}) {"),
            ("a|b|Tank|Kind", "enum Kind { X, Y };"),
            ("a|b|Tank", "private:"),
            ("Tank|name", "std::string Tank::name(int x) const"),
            ("ns|Tank|drain", "void ns::Tank<T>::drain() { }"),
            ("Tank|Tank", "Tank::Tank(int x)"),
            ("twice", "template <typename T>"),
            ("E", "enum class E : int { X };"),
        ],
    ),
    "C#": (
        "csharp",
        """\
using System;

namespace A.B;

/// <summary>Holds things.</summary>
[Serializable]
public class Tank<T> : Base, ITank where T : class, new()
{
    public int X { get; set; }
    private string path = @"c:\\dir\\";

    public int Y
    {
        get { return 1; }
        set { }
    }

    public Tank(int x) : base(x)
    {
    }

    public int Size() => 1;
    public (int a, string b) Both(int x) { return (1, ""); }

    [Test]
    public async Task<List<T>> Get<U>(U u) where U : struct
    {
        foreach (var x in y) { }
    }
    public static Tank operator +(Tank a, Tank b) { return a; }
    ~Tank() { }
}
public record Point(int A, string B);
public enum Color { Red }
internal interface I { void M() { } }
""",
        [
            ("", "using System;"),
            ("A.B", "namespace A.B;"),
            ("A.B|Tank", "/// <summary>Holds things.</summary>"),
            ("A.B|Tank|Y", "public int Y"),
            ("A.B|Tank|Tank", "public Tank(int x) : base(x)"),
            ("A.B|Tank|Size", "public int Size() => 1;"),
            ("A.B|Tank|Both", 'public (int a, string b) Both(int x) { return (1, ""); }'),
            ("A.B|Tank|Get", "[Test]"),
            ("A.B|Tank|operator +", "public static Tank operator +(Tank a, Tank b) { return a; }"),
            ("A.B|Tank|~Tank", "~Tank() { }"),
            ("A.B|Point", "public record Point(int A, string B);"),
            ("A.B|Color", "public enum Color { Red }"),
            ("A.B|I", "internal interface I { void M() { } }"),
        ],
    ),
    "Go": (
        "go",
        """\
// Package x does things.
package x

import (
\t"fmt"
)

var all = []T{{1}, {2}}

// T is a thing.
type T struct {
\tA int
}

type I interface {
\tRun() error
}

type Handler func(w int) error

// Run runs.
func (r *T) Run() error {
\tif r != nil {
\t\treturn &T{A: 1}
\t}
\treturn nil
}
func (m *Map[K, V]) Get(k K) (v V, ok bool) { return }
func (T) Nameless() {}

func Filter[T any](
\ta []T,
\tkeep func(T) bool,
) (x T) {
\treturn
}

var late = func(x int) int {
\treturn x
}
""",
        [
            ("", "// Package x does things."),
            ("T", "// T is a thing."),
            ("I", "type I interface {"),
            ("Handler", "type Handler func(w int) error"),
            ("T|Run", "// Run runs."),
            ("Map|Get", "func (m *Map[K, V]) Get(k K) (v V, ok bool) { return }"),
            ("T|Nameless", "func (T) Nameless() {}"),
            ("Filter", "func Filter[T any]("),
            ("late", "var late = func(x int) int {"),
        ],
    ),
    "Rust": (
        "rust",
        """\
#![allow(dead_code)]

use a::{b, c};

/// A tank.
#[derive(Debug)]
pub struct Tank<'a, T> {
    a: &'a str,
}
struct Unit;
struct Pair(i32, u8);

impl<'a, T> Tank<'a, T>
where
    T: Fn(i32) -> u8,
{
    pub fn new(x: &'a str) -> Self {
        Tank { a: x }
    }

    #[inline]
    pub(crate) async unsafe fn go(&self) -> Result<(), Box<dyn Error>> {
        match x {
            A => {}
        }
        Ok(())
    }
}

impl fmt::Display for Tank<'_, i32> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result { write!(f, "{}", self.a) }
}

macro_rules! my {
    ($x:expr) => { $x };
}

mod tests {
    #[test]
    fn it() {
    }
}
pub enum E {
    A { x: i32 },
}
pub trait Run {
    fn required(&self);
    fn given(&self) -> i32 {
        1
    }
}
lazy_static! {
    static ref X: Y = { Z };
}
#[no_mangle]
pub unsafe extern "C" fn exported(x: *const u8) {}
""",
        [
            ("", "#![allow(dead_code)]"),
            ("Tank", "/// A tank."),
            ("Unit", "struct Unit;"),
            ("Pair", "struct Pair(i32, u8);"),
            ("Tank", "impl<'a, T> Tank<'a, T>"),
            ("Tank|new", "pub fn new(x: &'a str) -> Self {"),
            ("Tank|go", "#[inline]"),
            ("Tank", "impl fmt::Display for Tank<'_, i32> {"),
            (
                "Tank|fmt",
                'fn fmt(&self, f: &mut Formatter<\'_>) -> fmt::Result { write!(f, "{}", self.a) }',
            ),
            ("my", "macro_rules! my {"),
            ("tests", "mod tests {"),
            ("tests|it", "#[test]"),
            ("E", "pub enum E {"),
            ("Run", "pub trait Run {"),
            ("Run|given", "fn given(&self) -> i32 {"),
            ("", "lazy_static! {"),
            ("exported", "#[no_mangle]"),
        ],
    ),
    "PHP": (
        "php",
        """\
<html>
<p>don't { </p>
<?php

namespace App\\Models;

use Foo\\{Bar, Baz};

/** A user. */
#[Attribute]
final class User extends Model implements I
{
    public ?string $a = "x {$b['c']} }";

    public function __construct(private int $x) {
    }

    abstract protected function none(): void;

    public static function &make(): self
    {
        return new class { public function inner() {} };
    }
}

function helper($x) {
    if ($x): ?>
    <b>it's</b>
    <?php endif;
}
enum Suit: string { case A = 'a'; }
add_action('x', function () { return 1; });
?>
<p>tail</p>
""",
        [
            ("", "<html>"),
            ("App\\Models", "namespace App\\Models;"),
            ("App\\Models|User", "/** A user. */"),
            ("App\\Models|User|__construct", "public function __construct(private int $x) {"),
            ("App\\Models|User", "abstract protected function none(): void;"),
            ("App\\Models|User|make", "public static function &make(): self"),
            ("App\\Models|helper", "function helper($x) {"),
            ("App\\Models|Suit", "enum Suit: string { case A = 'a'; }"),
            ("App\\Models", "add_action('x', function () { return 1; });"),
        ],
    ),
    "Kotlin": (
        "kotlin",
        """\
package a.b

import x.y.*

/** A point. */
@Serializable
data class Point(val x: Int, val y: String = "a ${b { "}" }} {")

sealed interface Kind

class Tank(
    private val x: Int,
) : Base(), I {
    val y = "x"
    val z: Int
        get() = 1

    init {
        go()
    }

    companion object {
        fun make() = Tank(1)
    }

    @Test
    fun `it works, doesn't it`() {
        run { x }
    }

    override suspend fun <T> get(id: Int): T? {
        return null
    }
    fun chain(): Int =
        listOf(1)
            .map { it + 1 }
            .first()

    abstract fun none()
}

fun String.shout(): Int = length
fun List<Int>.total() = sum()
object Single : I {
    fun only() {}
}
val top = listOf(1).map {
    it
}
""",
        [
            ("", "package a.b"),
            ("Point", "/** A point. */"),
            ("Kind", "sealed interface Kind"),
            ("Tank", "class Tank("),
            ("Tank|init", "init {"),
            ("Tank|Companion", "companion object {"),
            ("Tank|Companion|make", "fun make() = Tank(1)"),
            ("Tank|it works, doesn't it", "@Test"),
            ("Tank|get", "override suspend fun <T> get(id: Int): T? {"),
            ("Tank|chain", "fun chain(): Int ="),
            ("Tank", "abstract fun none()"),
            ("String|shout", "fun String.shout(): Int = length"),
            ("List|total", "fun List<Int>.total() = sum()"),
            ("Single", "object Single : I {"),
            ("Single|only", "fun only() {}"),
            ("", "val top = listOf(1).map {"),
        ],
    ),
    "Swift": (
        "swift",
        """\
import UIKit

/// A tank.
@objc(Tank)
public final class Tank<T>: Base where T: Equatable {
    let a = "x"
    var body: some View {
        Text("a")
    }
    var one: Int { 1 }
    var stored: Int = 0 {
        didSet { x() }
    }
    lazy var made: Tank = {
        Tank()
    }()

    init?(x: Int) {
        super.init()
    }
    deinit {
    }
    class func make() -> Tank { Tank() }
    static func == (a: Tank, b: Tank) -> Bool {
        return true
    }
    subscript(i: Int) -> Int {
        return 1
    }
    func f<U>(_ x: U, y: () -> Void = {}) async throws -> [U] {
        guard let x = y else { return }
    }
}

extension Tank: Codable {
    enum CodingKeys: String { case a }
}
protocol P {
    func required()
}
#if DEBUG
func debug() {
}
#endif
""",
        [
            ("", "import UIKit"),
            ("Tank", "/// A tank."),
            ("Tank|body", "var body: some View {"),
            ("Tank", "var one: Int { 1 }"),
            ("Tank|init", "init?(x: Int) {"),
            ("Tank|deinit", "deinit {"),
            ("Tank|make", "class func make() -> Tank { Tank() }"),
            ("Tank|==", "static func == (a: Tank, b: Tank) -> Bool {"),
            ("Tank|subscript", "subscript(i: Int) -> Int {"),
            ("Tank|f", "func f<U>(_ x: U, y: () -> Void = {}) async throws -> [U] {"),
            ("Tank", "extension Tank: Codable {"),
            ("Tank|CodingKeys", "enum CodingKeys: String { case a }"),
            ("P", "protocol P {"),
            ("", "#if DEBUG"),
            ("debug", "func debug() {"),
            ("", "#endif"),
        ],
    ),
    "Scala with braces and without": (
        "scala",
        """\
package a.b

/** A point. */
case class Point(x: Int, y: String)

object Tools extends App {
  val s = "x"

  def sum(x: Int)(implicit y: Int): Int = {
    x + y
  }

  def short = sum(1)(2)

  def lines(x: Int): Int =
    val y = x
    y + 1

  private[a] implicit def conv[T <: Point](x: T): Bar = new Bar {
    def inner = 1
  }

  def +(o: Point): Point = o
}

trait T[F[_]] {
  def required: Int
}

class Tank(x: Int):
  val y = 1

  def level(z: Int): Int =
    if z > 1 then
      1
    else 2

  def size = 3
end Tank

enum Color:
  case Red, Green

extension (s: String)
  def shout: String = s.toUpperCase

def top(x: Int) = x
""",
        [
            ("", "package a.b"),
            ("Point", "/** A point. */"),
            ("Tools", "object Tools extends App {"),
            ("Tools|sum", "def sum(x: Int)(implicit y: Int): Int = {"),
            ("Tools|short", "def short = sum(1)(2)"),
            ("Tools|lines", "def lines(x: Int): Int ="),
            ("Tools|conv", "private[a] implicit def conv[T <: Point](x: T): Bar = new Bar {"),
            ("Tools|+", "def +(o: Point): Point = o"),
            ("T", "trait T[F[_]] {"),
            ("Tank", "class Tank(x: Int):"),
            ("Tank|level", "def level(z: Int): Int ="),
            ("Tank|size", "def size = 3"),
            ("Color", "enum Color:"),
            ("", "extension (s: String)"),
            ("shout", "def shout: String = s.toUpperCase"),
            ("top", "def top(x: Int) = x"),
        ],
    ),
    "Ruby": (
        "ruby",
        """\
# frozen_string_literal: true

require 'x'

module A
  # A tank.
  class Tank < Base
    attr_reader :a

    def initialize(x)
      @x = x if x
      y = if x then 1 else 2 end
      while x do
        z
      end
      list.each do |i|
        puts "a #{i.map { |j| "}" }}"
      end
    end

    def self.make(a) = new(a)

    class << self
      def meta; 1; end
    end

    private

    def empty?(x)
      case x
      when 1 then 2
      end
    rescue
      nil
    end

    def ==(o)
      true
    end
    def class; 1; end
    private def late = 1
  end

  class Failed < StandardError; end
end

class Foo::Bar
end

def top(a, b = {}) end

RSpec.describe Tank do
  it "works" do
    a
  end
end
__END__
def not_here
""",
        [
            ("", "# frozen_string_literal: true"),
            ("A", "module A"),
            ("A|Tank", "# A tank."),
            ("A|Tank|initialize", "def initialize(x)"),
            ("A|Tank|make", "def self.make(a) = new(a)"),
            ("A|Tank", "class << self"),
            ("A|Tank|meta", "def meta; 1; end"),
            ("A|Tank", "private"),
            ("A|Tank|empty?", "def empty?(x)"),
            ("A|Tank|==", "def ==(o)"),
            ("A|Tank|class", "def class; 1; end"),
            ("A|Tank|late", "private def late = 1"),
            ("A|Failed", "class Failed < StandardError; end"),
            ("Foo::Bar", "class Foo::Bar"),
            ("top", "def top(a, b = {}) end"),
            ("", "RSpec.describe Tank do"),
        ],
    ),
    "the shell": (
        "shell",
        """\
#!/bin/bash
# Usage: don't

set -e

# Says it.
say() {
  local a="$1"
}

function bar {
  echo 1
}
function baz() (
  cd /
)
allman ()
{
  echo 1
} > /dev/null 2>&1
one() { echo 1; }
function with-dash() { # comment
  :
}
if foo; then
  inner() {
    echo 1
  }
fi
main "$@"
""",
        [
            ("", "#!/bin/bash"),
            ("say", "# Says it."),
            ("bar", "function bar {"),
            ("baz", "function baz() ("),
            ("allman", "allman ()"),
            ("one", "one() { echo 1; }"),
            ("with-dash", "function with-dash() { # comment"),
            ("", "if foo; then"),
        ],
    ),
    "SQL": (
        "sql",
        """\
-- header

create extension foo;

/* the table /* nested */ ; */
create table if not exists a.b (
    id int, -- it's;
    t text default 'a''b;'
);

create or replace function a.f(x int)
returns int
language plpgsql
as $body$
begin
    select 1;
    return e'\\';';
end;
$body$;

comment on function a.f(int) is 'it''s; fine';
create function g() returns int begin atomic
  select case when 1 then 2 end;
  select 2;
end;
create index on a.b (x);
create unique index concurrently "My Index" on a.b (x);
insert into t values (1),
  (2);
do $$
begin
  perform 1;
end
$$;
create or replace view v as
select * from a;
create materialized view mv as select 1;
create policy p on t using (true);
CREATE TYPE mood AS ENUM ('a', 'b;');
create trigger trg after insert on t for each row execute function f();
create temp table tt (a int) on commit drop;
create role bob;
create cast (a as b) without function;
begin;
select case when 1=1 then 'a' end;
commit;
""",
        [
            ("", "-- header"),
            ("foo", "create extension foo;"),
            ("a.b", "/* the table /* nested */ ; */"),
            ("a.f", "create or replace function a.f(x int)"),
            ("", "comment on function a.f(int) is 'it''s; fine';"),
            ("g", "create function g() returns int begin atomic"),
            ("", "create index on a.b (x);"),
            ("My Index", 'create unique index concurrently "My Index" on a.b (x);'),
            ("", "insert into t values (1),"),
            ("v", "create or replace view v as"),
            ("mv", "create materialized view mv as select 1;"),
            ("p", "create policy p on t using (true);"),
            ("mood", "CREATE TYPE mood AS ENUM ('a', 'b;');"),
            ("trg", "create trigger trg after insert on t for each row execute function f();"),
            ("tt", "create temp table tt (a int) on commit drop;"),
            ("bob", "create role bob;"),
            ("", "create cast (a as b) without function;"),
        ],
    ),
    "SQL of other servers": (
        "sql",
        """\
DELIMITER //
CREATE PROCEDURE first(IN x INT)
BEGIN
  IF x THEN SELECT 1; END IF;
  CASE x WHEN 1 THEN SELECT 2; END CASE;
END//
CREATE DEFINER=`root`@`localhost` TRIGGER second BEFORE INSERT ON a FOR EACH ROW
BEGIN SET NEW.x = 1; END//
DELIMITER ;
CREATE PROCEDURE [dbo].[Third]
AS
BEGIN
  SELECT 1
END
GO
CREATE TABLE [dbo].[Fourth] (a int)
GO
select 1
""",
        [
            ("", "DELIMITER //"),
            ("first", "CREATE PROCEDURE first(IN x INT)"),
            (
                "second",
                "CREATE DEFINER=`root`@`localhost` TRIGGER second BEFORE INSERT ON a FOR EACH ROW",
            ),
            ("dbo.Third", "CREATE PROCEDURE [dbo].[Third]"),
            ("dbo.Fourth", "CREATE TABLE [dbo].[Fourth] (a int)"),
            ("", "select 1"),
        ],
    ),
}


@pytest.mark.parametrize("case", OUTLINES)
def test_definitions_are_scopes(case: str) -> None:
    format, text, expected = OUTLINES[case]
    assert outline(text, format) == expected


#: By a statement that takes some care: what it defines.
HEADS = (
    (
        "kotlin",
        "open class A\ninternal constructor(\n  x: Int,\n) : B(x) {\n  fun f() {}\n}\n",
        ["A", "A|f"],
    ),
    ("kotlin", "class A {\n  val x = 1\n  constructor(y: Int) {\n  }\n}\n", ["A", "A|constructor"]),
    ("kotlin", "class A\nclass B\n", ["A", "B"]),
    ("kotlin", "val a: B = object : C {\n  fun f() {}\n}\n", [""]),
    ("ruby", "def @@a.b\nend\nclass ::C\nend\ndef []=(k, v)\nend\n", ["b", "C", "[]="]),
    (
        "cpp",
        "struct A { };\nA::operator const int*() const { return 0; }\n",
        ["A", "A|operator const int*"],
    ),
    ("cpp", "int A::*p = &A::x;\nvoid (*f(int))(int) { return 0; }\n", [""]),
    ("c", "if_x(int a) {\n}\nif (a) {\n}\n", ["if_x", ""]),
    ("c", "BEGIN_NAMESPACE\nstruct foo *bar(void)\n{\n}\n", ["bar"]),
    ("c", "MODULE(x)\n\nint f(void) { return 1; }\n", ["", "f"]),
    ("java", "non-sealed class A {\n}\nsealed interface B permits A {\n}\n", ["A", "B"]),
    ("csharp", "class A {\n  int this[int i]\n  {\n    get => 1;\n  }\n}\n", ["A", "A|this"]),
    ("go", "func (s *Stack[T]) Push(x T) {\n}\nfunc main() {}\n", ["Stack|Push", "main"]),
    ("rust", "impl<T> Tr for &'a mut [B<T>] {\n}\nimpl !Send for a::C {}\n", ["Tr", "C"]),
    ("rust", "const F: fn() = || { };\nfn g() {}\n", ["", "g"]),
    (
        "php",
        "<?php\nabstract class A { abstract function f(); }\nreturn new class { };\n",
        ["", "A", ""],
    ),
    (
        "swift",
        "struct A {\n  class override func f() {\n  }\n  var a = 1, b: Int {\n    1\n  }\n}\n",
        ["A", "A|f", "A"],
    ),
    ("scala", "package object a {\n}\ncase object B\ntrait C { def d: Int }\n", ["a", "B", "C"]),
    ("scala", "given o: Ord[Int] with\n  def f = 1\n", ["o", "o|f"]),
    ("javascript", "if (x) {\n}\nfor (;;) {\n}\na.b.c.d = () => {\n};\n", ["", "c|d"]),
    ("javascript", "let { a, b } = c;\nexport { a };\nimport { d } from 'd';\n", [""]),
    ("javascript", "class A { }\nlabel: while (1) { }\nx = { f() {} };\n", ["A", ""]),
    (
        "typescript",
        "abstract class A {\n  f(): void;\n  g(x?: { a: 1 }): x is B {\n  }\n}\n",
        ["A", "A|g"],
    ),
    ("shell", "a=(\n  b\n)\nc-d.e() {\n:\n}\nf () (\n:\n)\n", ["", "c-d.e", "f"]),
    ("sql", 'create table "A b" (x int);create type role as enum (1);\n', ["A b"]),
    (
        "sql",
        "create foreign table t (x int);\ncreate text search configuration c (x = y);\n",
        ["t", "c"],
    ),
    (
        "sql",
        "create user mapping for x;\ncreate or replace package body p as begin end;\n",
        ["", "p"],
    ),
)


@pytest.mark.parametrize(("format", "text", "expected"), HEADS)
def test_heads_are_told(format: str, text: str, expected: list[str]) -> None:
    assert names(text, format) == expected


#: Two functions, the first of which holds what is put for the percent sign.
TWO = {
    **dict.fromkeys(
        ("javascript", "typescript"), "function one() {\n  %\n}\n\nfunction two() {\n  x;\n}\n"
    ),
    **dict.fromkeys(("c", "cpp"), "int one(void) {\n  %\n}\n\nint two(void) {\n  x;\n}\n"),
    **dict.fromkeys(
        ("java", "csharp"), "class A {\n  void one() {\n    %\n  }\n\n  void two() {\n  }\n}\n"
    ),
    "go": "func one() {\n\t%\n}\n\nfunc two() {\n}\n",
    "rust": "fn one() {\n    %\n}\n\nfn two() {\n}\n",
    "php": "<?php\nfunction one() {\n  %\n}\n\nfunction two() {\n}\n",
    "kotlin": "fun one() {\n  %\n}\n\nfun two() {\n}\n",
    "swift": "func one() {\n  %\n}\n\nfunc two() {\n}\n",
    "scala": "object A {\n  def one() = {\n    %\n  }\n\n  def two() = {\n  }\n}\n",
    "ruby": "def one\n  %\nend\n\ndef two\nend\n",
    "shell": "one() {\n  %\n}\n\ntwo() {\n  :\n}\n",
    "sql": "create function one() returns int language sql as %;\n\ncreate table two (a int);\n",
}

#: What a text may hold that opens, closes or ends nothing.
HARMLESS = (
    ("javascript", "x = 'a } b';"),
    ("javascript", 'x = "a \\" } b";'),
    ("javascript", "x = '\\\\'; // don't }"),
    ("javascript", "/* don't } ` */"),
    ("javascript", "x = `a } ${b ? `c } ${'}'}` : { d: '}' }.d} // }`;"),
    ("javascript", "x = /[/'\"`{]+\\/(/g;"),
    ("javascript", "if (/}/.test(x)) y = a / b / c; // '"),
    ("javascript", "return /'/;"),
    ("javascript", "x = a ? /}/ : /{/, y = b++ / 2; // '}"),
    ("javascript", "x = arr[0] / 2 + f() / '}'.length;"),
    ("javascript", "return <p>don't {x} it's</p>;"),
    ("javascript", "return <A b={'}'} c='{'>rock 'n' roll, {/* } */ y}</A>;"),
    ("javascript", 'return <p>6" of {x}</p>;'),
    ("javascript", "x = 'never closed {"),
    ("javascript", 'x = "it\\\n\'s }";'),
    ("javascript", 'x = <a href="http://x.y/}">http://x.y/z</a>;'),
    ("typescript", "const x: Array<{ a: '}' }> = <any>y;"),
    ("typescript", "const f = (x: `a${string}}`) => x!;"),
    ("c", "char c = '}', d = '\\'', e = '\"'; /* '} */"),
    ("c", "#if 0\n} } don't\n#endif"),
    ("c", "#ifdef A\n  if (a) {\n#else\n  if (b) {\n#endif\n  }"),
    ("c", "#define X(a) { a \\\n  } }\n  x;"),
    ("c", "#define Y '\n  // } \\' \"\n  x;"),
    ("c", "#error don't }"),
    ("c", 'x = "}" "\\\n } \\" }";'),
    ("cpp", 'auto r = R"x(don\'t " } )" {)x";'),
    ("cpp", "auto n = 1'000'000 + 0xFF'FF; auto c = u'}', d = L'{';"),
    ("cpp", 'auto s = u8R"(} \\)", t = LR"--(})--";'),
    ("java", 'String s = """\n      } " \\""" {\n      """; char c = \'}\';'),
    ("java", "int x = a < b ? c >> 2 : d; // don't }"),
    ("csharp", 'var s = $"{a["k"]} {{x}} }} {(b ? "}" : "{")}";'),
    ("csharp", 'var s = @"a ""} \\";'),
    ("csharp", 'var s = $@"a ""}} {b} \\";'),
    ("csharp", 'var s = """\n      } " }\n      """;'),
    ("csharp", "char c = '}'; // '\n#if false\n}\n#endif"),
    ("go", "x := `} \" ' \\`"),
    ("go", "x := '}'; y := '\\''; z := \"}\" // don't"),
    ("go", "s := `multi\nfunc fake() {\n`"),
    ("go", 'return T{A: "}", b: map[string]int{"{": 1}}'),
    ("rust", "let c = '}'; let d = '\\''; let e: &'static str = \"}\";"),
    ("rust", 'let r = r#"don\'t " } "#; let b = b\'{\'; let s = br"}";'),
    ("rust", "/* a /* } */ don't } */ x"),
    ("rust", 'let s = "multi\n } { don\'t";'),
    ("rust", "'outer: loop { break 'outer; }"),
    ("rust", 'println!("{}}}", x); vec![1; 2]; // \''),
    ("php", "$x = 'it\\'s }' . \"a {$b['c']} }\";"),
    ("php", "$t = <<<EOT\n  don't } \"x\n  EOT . '}';"),
    ("php", "$t = <<<'EOT'\n} ' {$x\nEOT;"),
    ("php", "# don't }"),
    ("php", "if ($x): ?><b>it's }</b><?php endif; // }"),
    ("kotlin", 'val s = "x ${if (a) "}" else "{"} }"; val c = \'}\''),
    ("kotlin", 'val s = """ } " \\ ${y { "}" }} """ // don\'t'),
    ("kotlin", "/* a /* } */ ' } */"),
    ("swift", 'let s = "\\(x.map { "}" }) }"'),
    ("swift", 'let s = """\n    } " \\(y) don\'t\n    """'),
    ("swift", 'let r = #"a " } \\ "#, t = #"""\n } "\n"""#'),
    ("swift", "// don't }"),
    ("scala", 'val s = s"a ${b.map { x => "}" }} }"; val c = \'}\'; val t = \'sym'),
    ("scala", 'val s = """ } " \\ """ // don\'t'),
    ("ruby", "x = 'end' + \"#{a ? 'end' : \"}\"} end\" # don't end"),
    ("ruby", "x = <<~SQL + <<-B\n    don't end\n  SQL\n end\n  B"),
    ("ruby", "x = %w[a [end] don't] + %q(it's (an) end)"),
    ("ruby", "x =~ /['\"{]end/ ? :end : { if: 1, end: 2 }"),
    ("ruby", "x = $'.end; y = ?'; z = x.class.if"),
    ("ruby", "x = begin\n    1\n  end while y"),
    ("ruby", "return if x unless y"),
    ("ruby", "for i in 1..2 do\n    x if i\n  end"),
    ("ruby", "a / b / c # '"),
    ("ruby", "puts 'x' if a and not b"),
    ("ruby", "x = case y when 1 then 2 else 3 end"),
    ("shell", "echo '}' \"}\" $'\\'}' # don't }"),
    ("shell", 'echo "$(echo "x }" | sed \'s/}/"/\')" ${x#\\\'} "${y//\'/}"'),
    ("shell", "cat <<EOF\ndon't } \"\nEOF"),
    ("shell", "cat <<-'A' <<B\n} '\n\tA\n} \"\nB"),
    ("shell", "git commit -m \"$(cat <<'EOF'\nit's (a }\nEOF\n)\""),
    ("shell", 'echo it\\\'s \\} $((1<<3)) "$((x<<2))" ${#x} $#'),
    ("shell", "case $x in\n    a) y ;;\n    (b) z ;;\n  esac"),
    ("shell", 'local x=${1:-\'}\'} y="${2:-"}"}"'),
    ("shell", "[[ $x =~ ^[a-z]{2}$ ]] && { echo a; } <<< 'b'"),
    ("sql", "'select ''a;b'' -- create table x'"),
    ("sql", "e'it\\'s; ''x'"),
    ("sql", "$$ select 'a;'; create table three (); $$"),
    ("sql", "$a$ it's; $$ $b$ ; $a$"),
    ("sql", "'x' /* ; /* ; */ it's; */ -- ;'"),
    ("sql", "'x' set \"a;b\" to 1"),
)


@pytest.mark.parametrize(("format", "harmless"), HARMLESS)
def test_strings_and_comments_change_no_structure(format: str, harmless: str) -> None:
    text = TWO[format].replace("%", harmless)
    found = [(name.split("|")[-1], content) for name, content in scopes(text, format)]
    found = [(name, content) for name, content in found if name in ("one", "two")]
    assert [name for name, _ in found] == ["one", "two"]
    assert harmless in found[0][1]
    lines = [content.splitlines()[-1].strip() for _, content in found]
    assert format in ("sql", "php") or lines[0] in ("}", "end")


#: Something that is never closed, and behind it a definition that is found all the same.
BROKEN = (
    ("javascript", "function a() {\n  if (x) {\n  return 1;\n}\n\nfunction last() {\n}\n"),
    ("javascript", "function a() {\n  return [1, (2;\n}\nfunction last() {\n}\n"),
    ("javascript", "const x = f({\n  a: 1,\n\nexport class last {\n}\n"),
    ("javascript", "x = `never closed\nfunction a() {\n}\nfunction last() {}\n"),
    ("javascript", "/* never closed\nfunction a() {\n}\nfunction last() {}\n"),
    ("javascript", "x = `${`${\nfunction a() {\n}\nfunction last() {}\n"),
    ("javascript", "}}}\nfunction a() {\n}\n)]}\nfunction last() {}\n"),
    ("javascript", "class A {\n  f() {\n    if (x) {\n  }\n  last() {\n    y();\n  }\n}\n"),
    ("typescript", "interface A {\n  x: {\n}\nexport function last() {\n}\n"),
    (
        "c",
        "int a(void) {\n  while (1) {\n    if (2) {\nout:\n  return;\n\nstatic int last(void)\n{\n}\n",
    ),
    ("c", "int a(void)\n{\n\tif (b)\n\t{\n\treturn 1;\n}\n\nint\nlast(void)\n{\n}\n"),
    ("c", '#if 0\nint a() {\n#endif\nchar *s = "x;\nint last() {\n}\n'),
    ("c", "#ifdef X\nint a(int b) {\n#else\nint a(void) {\n#endif\n  x;\n}\nint last() {\n}\n"),
    ("cpp", 'auto s = R"(never closed;\nint a() {\n}\nint last() {\n}\n'),
    ("java", "class A {\n  void a() {\n    if (x) {\n  }\n\n  public void last() {\n  }\n}\n"),
    ("java", "class A {\n  void a() {\n    x();\n\npublic class last {\n}\n"),
    (
        "csharp",
        "class A\n{\n  void a()\n  {\n    if (x) {\n  }\n\n  private int last()\n  {\n  }\n}\n",
    ),
    ("go", "func a() {\n\tif x {\n\treturn\n}\n\nfunc last() {\n}\n"),
    ("go", "var s = `never closed\nfunc a() {\n}\nfunc last() {\n}\n"),
    ("rust", "fn a() {\n    if x {\n    y\n}\n\npub fn last() {\n}\n"),
    ("rust", 'fn a() {\n    let s = r#"never";\n}\nfn last() {\n}\n'),
    ("php", "<?php\nfunction a() {\n  if (x) {\n}\nfunction last() {\n}\n"),
    ("kotlin", "fun a() {\n    if (x) {\n}\n\nprivate fun last() {\n}\n"),
    ("swift", "func a() {\n    if x {\n}\n\npublic func last() {\n}\n"),
    ("scala", "object A {\n  def a = {\n    if (x) {\n  }\n\n  def last = {\n  }\n}\n"),
    ("ruby", "def a\n  if x\n    y\nend\n\ndef last\nend\n"),
    ("ruby", "def a\n  x = 'never closed\nend\n\ndef last\nend\n"),
    ("shell", "a() {\n  if x; then {\n}\n\nlast() {\n  :\n}\n"),
    ("shell", "a() {\n  echo it's\n}\n\nlast() {\n  :\n}\n"),
    ("shell", "a() {\n  cat <<EOF\n}\nlast() {\n  :\n}\n"),
    ("sql", "create table a (x int\n\ncreate table last (y int);\n"),
    ("sql", "select 'it's';\ncreate table last (y int);\n"),
    ("sql", "create function a() returns int as $x$ begin\n\ncreate table last (y int);\n"),
)


@pytest.mark.parametrize(("format", "text"), BROKEN)
def test_broken_code_does_not_hide_what_follows(format: str, text: str) -> None:
    assert "last" in [name.split("|")[-1] for name in names(text, format)]
    assert_tiled(text, read(text, format))


def test_what_was_never_closed_ends_its_scope() -> None:
    text = "class A {\n  f() {\n    if (x) {\n  }\n}\n\nfunction h() {\n  x();\n}\n\nclass B {\n}\n"
    assert names(text, "javascript") == ["A", "A|f", "h", "B"]


def test_code_that_is_not_indented_is_taken_as_it_is() -> None:
    text = "function a() {\nif (x) {\nfunction b() {\n}\n}\n}\nfunction c() {\n}\n"
    assert names(text, "javascript") == ["a", "c"]


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/auth/login.ts", "login"),
        ("src/auth/index.ts", "auth"),
        ("src\\auth\\index.js", "auth"),
        ("src/auth/mod.rs", "auth"),
        ("index.js", "index"),
        ("login.test.ts", "login.test"),
        ("bin/deploy", "deploy"),
        (".bashrc", ".bashrc"),
        ("", ""),
    ],
)
def test_the_module_is_named_by_the_path(path: str, module: str) -> None:
    text = "import a;\n\nfunction f() {\n}\n"
    joined = f"{module}|f" if module else "f"
    assert names(text, "javascript", path) == [module, joined]


def test_what_is_right_above_a_definition_belongs_to_it() -> None:
    text = (
        "// Licence\n// of the file\n\n"
        "import { Component } from 'x';\n// About imports.\n\n"
        "/**\n * A page.\n */\n@Component({\n  tag: 'x-page',\n})\n// eslint-disable-next-line\n"
        "export class Page {\n  /** Its name. */\n  @Input()\n  name: string;\n\n"
        "  // Not about draw.\n\n  // Draws\n  // it.\n  @Once()\n  draw() {\n  }\n}\n"
    )
    assert scopes(text, "typescript", "page.ts") == [
        ("page", text[: text.index("/**")].strip()),
        ("page|Page", text[text.index("/**") : text.index("  // Draws")].strip()),
        ("page|Page|draw", text[text.index("// Draws") :].strip()),
    ]


def test_attributes_and_comments_above_belong_to_a_definition() -> None:
    text = "#![no_std]\n\n/// Runs.\n#[inline]\n#[must_use]\n// why\npub fn run() {}\n"
    assert scopes(text, "rust")[1] == ("run", text[text.index("///") :].strip())
    text = "[assembly: X]\n\n/// <x/>\n[Test]\n[Case(1, '{')]\npublic class A\n{\n}\n"
    assert scopes(text, "csharp")[1] == ("A", text[text.index("///") :].strip())
    text = "// x\ntemplate <class T>\n[[nodiscard]]\nstatic inline int f() { return 1; }\n"
    assert scopes(text, "cpp") == [("f", text.strip())]
    text = "@A\n@B(\n  x = 1\n)\nprivate\nfun f() {\n}\n"
    assert scopes(text, "kotlin") == [("f", text.strip())]


def test_text_of_the_class_goes_on_behind_a_method() -> None:
    text = "class A {\n  int a;\n  void f() {\n  }\n  int b;\n  int c;\n}\nint d;\n"
    assert scopes(text, "cpp") == [
        ("A", "class A {\n  int a;"),
        ("A|f", "void f() {\n  }"),
        ("A", "int b;\n  int c;\n}"),
        ("", "int d;"),
    ]


def test_functions_of_one_name_are_apart() -> None:
    text = "int f(int a) { return a; }\nint f(long a) { return a; }\n"
    assert names(text, "cpp") == ["f", "f"]


def test_what_is_defined_in_a_function_is_its_text() -> None:
    text = (
        "function outer() {\n  function inner() {}\n  class Local { m() {} }\n"
        "  const late = () => {\n  };\n}\nif (x) {\n  function conditional() {}\n}\n"
    )
    assert names(text, "javascript") == ["outer", ""]


def test_levels_tell_paragraphs_statements_and_lines() -> None:
    text = """\
void run(int a)
{
    int b = a;
    int c = b
        + a;
    if (a) {
        first();

        second();
    } else {
        third();
    }
    // About the call
    // below.
    call(a,
         b);

    last();
}
"""
    assert borders(text, "c") == [
        (BLOCK, "void run(int a)\n{"),
        (ROW, "    int b = a;"),
        (ITEM, "    int c = b"),
        (ROW, "        + a;"),
        (ITEM, "    if (a) {"),
        (ROW, "        first();"),
        (ITEM, "        second();\n    } else {"),
        (ROW, "        third();\n    }"),
        (BLOCK, "    // About the call\n    // below."),
        (ROW, "    call(a,"),
        (ROW, "         b);"),
        (BLOCK, "    last();\n}"),
    ]


def test_line_ends_may_end_statements() -> None:
    text = (
        "fun run() {\n    val a = b\n        .first()\n    val c = a +\n        1\n    c.go()\n}\n"
    )
    assert borders(text, "kotlin") == [
        (BLOCK, "fun run() {"),
        (ROW, "    val a = b"),
        (ROW, "        .first()"),
        (ITEM, "    val c = a +"),
        (ROW, "        1"),
        (ITEM, "    c.go()\n}"),
    ]


def test_a_quoted_body_is_cut_at_its_statements() -> None:
    text = (
        "create function f() returns int as $$\ndeclare\n    a int;\nbegin\n    select 1\n"
        "    into a;\n\n    return a;\nend;\n$$ language plpgsql;\nselect 1;\n"
    )
    assert borders(text, "sql") == [
        (BLOCK, "create function f() returns int as $$"),
        (ROW, "declare"),
        (ROW, "    a int;"),
        (ITEM, "begin"),
        (ROW, "    select 1"),
        (ROW, "    into a;"),
        (ITEM, "    return a;\nend;\n$$ language plpgsql;"),
        (BLOCK, "select 1;"),
    ]


def test_copied_data_is_not_read() -> None:
    text = (
        "COPY public.t (a) FROM stdin;\n1\tdon't; $$\ncreate table x (\n\\.\n\n"
        "create table y (a int);\n"
    )
    assert names(text, "sql") == ["", "y"]


def test_html_around_php_is_text() -> None:
    text = "<p>it's {</p>\n<?php function f() { ?>\n<b>{</b>\n<?php } ?>\n<?= $x ?>\n<p>}\n"
    seen = "".join(content for _, content in scopes(text, "php"))
    assert "".join(seen.split()) == "".join(text.split())
    assert names(text, "php") == ["", "f", ""]
    assert names("function f() {\n}\nfunction g() {\n}\n", "php") == ["f", "g"]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("case", OUTLINES)
def test_line_ends_of_all_kinds_are_the_same(case: str, end: str) -> None:
    format, text, _ = OUTLINES[case]
    other = text.replace("\n", end)
    expected = [(b.level, b.path, text[b.start : b.end]) for b in read(text, format)]
    found = [
        (b.level, b.path, other[b.start : b.end].replace(end, "\n")) for b in read(other, format)
    ]
    assert found == expected or (end == "\r" and format == "ruby")


def test_a_byte_order_mark_is_skipped() -> None:
    found = read("\ufefffunction f() {}\n", "javascript")
    assert [(block.start, block.path) for block in found] == [(1, ("f",)), (1, ())]


@pytest.mark.parametrize("format", LANGUAGES)
@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff", " \r\n\t", "}", "x", "\\", "'", "/", "#"])
def test_next_to_nothing_is_read(format: str, text: str) -> None:
    found = read(text, format)
    assert_tiled(text, found)
    assert bool(found) == (not is_blank(text))


def test_minified_code_is_cut_into_stretches() -> None:
    text = ",".join(f"v{n}=function(a){{return a*{n}+'s{n}'}}" for n in range(900))
    for whole in (f"var {text};\n", f"!function(){{var {text}}}();", f"f({{{text}}})"):
        found = read(whole, "javascript", "app.min.js")
        assert_tiled(whole, found)
        assert {block.path for block in found if block.level == SCOPE} == {("app.min",)}
        assert max(block.end - block.start for block in found) < 1200
    words = pieces(f"var {text};\n", 30, "javascript")
    assert "".join(piece.lead + piece.content for piece in words) == f"var {text};"
    assert all(len(piece.content.split()) <= 30 for piece in words)


def test_chunks_are_definitions_with_their_paths() -> None:
    methods = "".join(
        f"    /** Does {n}. */\n    public int run{n}(int a) {{\n        return a + {n};\n    }}\n\n"
        for n in range(30)
    )
    text = f"package x;\n\npublic class Big {{\n{methods}}}\n"
    found = pieces(text, 50, "java", "src/Big.java")
    assert [piece.section_path for piece in found[:3]] == [
        ("Big",),
        ("Big", "Big"),
        ("Big", "Big", "run0"),
    ]
    assert len(found) == 32
    assert all(piece.content.lstrip().startswith("/** Does") for piece in found[2:])
    assert "".join(piece.lead + piece.content for piece in found) == text.rstrip()


def test_a_long_function_is_cut_between_its_paragraphs() -> None:
    steps = "\n".join(
        f"    step{n}(a, b);\n    if (c) {{\n        d({n});\n    }}\n" for n in range(40)
    )
    found = pieces(f"void all(int a) {{\n{steps}}}\n", 50, "c")
    assert len(found) > 5
    assert {piece.section_path for piece in found} == {("all",)}
    assert all(piece.content.lstrip().startswith("step") for piece in found[1:])


def test_nesting_and_names_have_limits() -> None:
    text = "class A {\n" * 3000 + "}\n" * 3000
    found = read(text, "java")
    assert_tiled(text, found)
    assert max(len(block.path) for block in found) == 20
    long = f"function {'n' * 3900}() {{}}\nfunction {'n' * 9000}() {{}}\n"
    assert all(len(name) <= 1000 for name in names(long, "javascript"))


def fragments(format: str) -> st.SearchStrategy[str]:
    """Pieces of the texts above of a language, and what interferes with them."""
    lines = [
        line for case in OUTLINES.values() if case[0] == format for line in case[1].split("\n")
    ]
    parts = [TWO[format].replace("%", part) for name, part in HARMLESS if name == format]
    signs = [
        *"(){}[];,'\"`/\\#$@<>=:\n\r",
        "/*",
        "*/",
        '"""',
        "${",
        "$$",
        "<<A\n",
        "#if 0\n",
        "\ud800",
    ]
    line = st.sampled_from(lines or list(TWO[format].split("\n")))
    piece = st.one_of(line.map(lambda one: one + "\n"), st.sampled_from(signs))
    whole = st.sampled_from([*parts, TWO[format]])
    return st.lists(st.one_of(piece, piece, whole), max_size=20).map("".join)


@pytest.mark.parametrize("format", LANGUAGES)
def test_any_text_is_tiled_and_read_alike_twice(format: str) -> None:
    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.one_of(fragments(format), fragments(format), any_text()))
    def check(text: str) -> None:
        found = read(text, format, "a/b.x")
        assert_tiled(text, found)
        assert found == read(text, format, "a/b.x")
        starts = [block.start for block in found if block.level != SCOPE]
        assert all(text[at - 1] in "\r\n" or len(text) > 500 for at in starts[1:])

    check()


def test_any_head_is_told() -> None:
    words = (
        *'a Foo ( ) { } [ ] < > = => -> :: : ; , . @ # * ~ & ! "" `x` 1'.split(),
        *"class struct enum interface namespace record fn func fun function def impl for where".split(),
        *"trait mod macro_rules extern operator typedef type var const export default async".split(),
        *"static get case object companion init given extension create or table index on".split(),
    )
    chosen = random.Random(1)
    for _ in range(4000):
        head = chosen.choices(words, k=chosen.randint(1, 8))
        text = " ".join(head)
        for define in {language.define for language in LANGUAGES.values()}:
            is_body, in_module, in_object = (chosen.random() < 0.5 for _ in range(3))
            found = define(Head(head, text + "{\n", 0, len(text), is_body, in_module, in_object))
            assert found is None or isinstance(found, Definition)
            assert found in (None, UNDECIDED) or all(found.names)


#: What is easily read in a time that grows with the square.
LONG = (
    *("(", "{", "}", "[", ")", "'", '"', "`", "/", "\\", "<", "#", "$", " ", "\n", "a", ";"),
    *("`${", '"$(', '"#{', "/*", "*/", "//\n", "/[", "'''", '"""', "{\n", "}\n", "a\n", "a\n\n"),
    *("class A{", "f(){", "int f(){\n", "def f\n", "end\n", "x if y ", "function f(){", "()=>{"),
    *("#if 0\n", "#if\n{\n#else\n", "<<A\n", "<<<A\n", "$a$", 'R"a(', 'r#"', '@"', "<?", "?>"),
    *(
        "=begin\n",
        "create function begin ",
        "copy a from stdin;\n",
        "(function(){",
        "a=()=>{",
        "%w(",
    ),
    *("a<", "@a ", "[a]\n", "/*a*/", "// a\n", "x = {", "namespace a;", "describe(", "'a\n"),
)


@pytest.mark.parametrize("format", sorted(set(LANGUAGES) - {"typescript", "cpp"}))
def test_time_is_linear(format: str) -> None:
    chosen = random.Random(format)
    for part in chosen.sample(LONG, 5):
        text = part * (3000 // len(part))
        assert grows_linearly(lambda text: read(text, format), text), part


def test_ticks_come_often() -> None:
    for text in ("a" * 3_000_000, "/*" + "* " * 1_500_000, " " * 3_000_000, "x = `a" * 500_000):
        longest, last = 0.0, time.process_time()
        for _ in blocks(text, "", "javascript"):
            now = time.process_time()
            longest, last = max(longest, now - last), now
        assert longest < 0.1
