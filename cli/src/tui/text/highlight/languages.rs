//! The table of languages for syntax highlighting.

/// Words separated by spaces.
pub(super) type Words = &'static str;

#[derive(Debug)]
pub(super) struct Language {
    /// The language's names in code blocks, and its file extensions.
    pub(super) names: Words,
    /// Markers of comments that extend to the end of the line.
    pub(super) comment: &'static [&'static str],
    /// The start and end of block comments.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// String syntaxes, longest opening quote first.
    pub(super) quotes: &'static [Quote],
    pub(super) keywords: Words,
    /// Built-in types that are written in lower case.
    pub(super) kinds: Words,
    pub(super) name_style: NameStyle,
}

/// A string syntax.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether a backslash escapes the next character.
    pub(super) escapes: bool,
    /// Whether the string can span several lines.
    pub(super) lines: bool,
}

/// How a language's names are classified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameStyle {
    /// A programming language: types are capitalised, and function names are followed by a
    /// parenthesis.
    Program,
    /// Like [`NameStyle::Program`], but `'a` is a lifetime.
    Rust,
    /// Keywords are case-insensitive.
    Sql,
    /// Variables start with a dollar sign, and a comment must follow whitespace.
    Shell,
    /// A word before a colon is a key.
    Colon,
    /// A word before an equals sign is a key, and a line in brackets is a section.
    Equals,
    Markup,
    /// A line is classified by its first character.
    Diff,
}

const fn quote(open: &'static str, close: &'static str, escapes: bool, lines: bool) -> Quote {
    Quote {
        open,
        close,
        escapes,
        lines,
    }
}

const DOUBLE: Quote = quote("\"", "\"", true, false);
const SINGLE: Quote = quote("'", "'", true, false);
const C_QUOTES: &[Quote] = &[DOUBLE, SINGLE];
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));
const LINES: &[Quote] = &[
    quote("\"\"\"", "\"\"\"", true, true),
    quote("'''", "'''", true, true),
    DOUBLE,
    SINGLE,
];

/// Defines a language with C-style comments.
const fn like_c(names: Words, keywords: Words, kinds: Words) -> Language {
    Language {
        names,
        comment: &["//"],
        block: C_BLOCK,
        quotes: C_QUOTES,
        keywords,
        kinds,
        name_style: NameStyle::Program,
    }
}

/// Defines a language with hash comments.
const fn like_python(
    names: Words,
    quotes: &'static [Quote],
    keywords: Words,
    kinds: Words,
) -> Language {
    Language {
        names,
        comment: &["#"],
        block: None,
        quotes,
        keywords,
        kinds,
        name_style: NameStyle::Program,
    }
}

/// Finds a language by name, file extension or file name.
pub(super) fn find(name: &str) -> Option<&'static Language> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let ending = file.rsplit('.').next().unwrap_or(file).to_ascii_lowercase();
    if ending.is_empty() {
        return None;
    }
    LANGUAGES.iter().find(|it| lists(it.names, &ending))
}

/// Reports whether a word is in a list.
pub(super) fn lists(words: Words, word: &str) -> bool {
    words.split(' ').any(|listed| listed == word)
}

static LANGUAGES: &[Language] = &[
    Language {
        quotes: &[
            quote("r###\"", "\"###", false, true),
            quote("r##\"", "\"##", false, true),
            quote("r#\"", "\"#", false, true),
            quote("br\"", "\"", false, true),
            quote("r\"", "\"", false, true),
            quote("b\"", "\"", true, true),
            quote("c\"", "\"", true, true),
            quote("\"", "\"", true, true),
        ],
        name_style: NameStyle::Rust,
        ..like_c(
            "rust rs",
            "Self as async await break const continue crate dyn else enum extern false fn for if impl in let loop \
                macro_rules match mod move mut pub ref return self static struct super trait true type union unsafe \
                use where while yield",
            "bool char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize",
        )
    },
    like_python(
        "python py pyi python3 py3 starlark bzl",
        LINES,
        "False None True and as assert async await break case class continue def del elif else except finally for \
            from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
        "bool bytes dict float int list object set str tuple",
    ),
    Language {
        quotes: &[DOUBLE, SINGLE, quote("`", "`", true, true)],
        ..like_c(
            "javascript js jsx mjs cjs typescript ts tsx mts cts node deno",
            "abstract as async await break case catch class const continue debugger declare default delete do \
                else enum export extends false finally for from function get if implements import in instanceof \
                interface keyof let namespace new null of private protected public readonly return satisfies set \
                static super switch this throw true try type typeof undefined var void while with yield",
            "any bigint boolean never number object string symbol unknown",
        )
    },
    Language {
        quotes: &[DOUBLE, SINGLE, quote("`", "`", false, true)],
        ..like_c(
            "go golang",
            "break case chan const continue default defer else fallthrough false for func go goto if import \
                interface iota map nil package range return select struct switch true type var",
            "any bool byte complex128 complex64 error float32 float64 int int16 int32 int64 int8 rune string uint \
                uint16 uint32 uint64 uint8 uintptr",
        )
    },
    like_c(
        "c h cpp c++ cc cxx hpp hh objc m mm cuda cu arduino ino glsl",
        "alignas auto break case catch class const consteval constexpr continue default define delete do else \
            endif enum explicit extern false final for friend goto if ifdef ifndef include inline mutable namespace \
            new noexcept nullptr operator override pragma private protected public register restrict return sizeof \
            static static_assert struct switch template this throw true try typedef typename union using virtual \
            volatile while",
        "bool char double float int int16_t int32_t int64_t int8_t long short signed size_t ssize_t uint16_t \
            uint32_t uint64_t uint8_t unsigned void",
    ),
    Language {
        quotes: LINES,
        ..like_c(
            "java kotlin kt kts scala groovy gradle dart swift csharp cs c#",
            "abstract actor as async await base break case catch class companion const continue data def default \
                defer do else enum extends extension false final finally for foreach fun func get guard if \
                implements import in init instanceof interface internal is lateinit late lazy let match mixin \
                namespace native new nil null object open operator out override package private protected protocol \
                public readonly record required return sealed self set static struct super suspend switch \
                synchronized this throw throws trait true try type typealias using val var virtual void volatile \
                when where while with yield",
            "bool boolean byte char decimal double dynamic float int long short string uint ulong",
        )
    },
    like_c(
        "zig proto protobuf graphql gql solidity sol v odin",
        "and break catch comptime const continue contract defer else enum errdefer error event export extern \
            false fn for function if import input interface message mutation null oneof optional option or orelse \
            package pub public query repeated reserved return returns rpc scalar service struct switch syntax test \
            true try type undefined union var view while",
        "address anyerror bool bytes f32 f64 float i32 i64 int32 int64 string u32 u64 u8 uint256 uint32 uint64 \
            usize void",
    ),
    Language {
        comment: &["//", "#"],
        block: C_BLOCK,
        ..like_python(
            "php",
            C_QUOTES,
            "abstract and array as break case catch class const continue declare default do echo else elseif enum \
                extends false final finally fn for foreach function global if implements include instanceof \
                interface match namespace new null or print private protected public readonly require require_once \
                return static switch this throw trait true try use var while yield",
            "bool callable float int iterable mixed object string void",
        )
    },
    like_python(
        "ruby rb rake gemfile rakefile elixir ex exs crystal cr julia jl r",
        LINES,
        "BEGIN END alias and begin break case catch class cond const def defimpl defmodule defp defstruct do else \
            elseif elsif end ensure export extend false fn for function global if import in include library local \
            module mutable next nil not nothing or quote raise receive redo require rescue retry return self struct \
            super then true try undef unless until use using when where while with yield",
        "",
    ),
    like_python(
        "perl pl pm nix awk tcl make makefile mk cmake just justfile",
        C_QUOTES,
        "BEGIN END PHONY and assert define else elsif endef endfunction endif export foreach function if ifdef \
            ifeq ifndef ifneq import in include inherit last let my next not or our package print proc rec return \
            set sub then unless use while with",
        "",
    ),
    Language {
        names: "lua luau",
        comment: &["--"],
        block: Some(("--[[", "]]")),
        quotes: &[quote("[[", "]]", false, true), DOUBLE, SINGLE],
        keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true \
            until while",
        kinds: "",
        name_style: NameStyle::Program,
    },
    Language {
        names: "haskell hs elm purescript purs idris agda",
        comment: &["--"],
        block: Some(("{-", "-}")),
        quotes: &[DOUBLE],
        keywords: "case class data deriving do else exposing forall foreign if import in infix infixl infixr instance let \
            module newtype of qualified then type where",
        kinds: "",
        name_style: NameStyle::Program,
    },
    Language {
        names: "ocaml ml mli fsharp fs f# reason",
        comment: &["//"],
        block: Some(("(*", "*)")),
        quotes: &[DOUBLE],
        keywords: "and as begin class do done else end exception external false for fun function functor if in include let \
            match member module mutable new of open rec sig struct then to true try type val when while with",
        kinds: "bool char float int list option string unit",
        name_style: NameStyle::Program,
    },
    Language {
        names: "lisp clojure clj cljs edn scheme scm racket rkt elisp el",
        comment: &[";"],
        block: None,
        quotes: &[quote("\"", "\"", true, true)],
        keywords: "and begin case cond def defmacro defn defun define do fn if lambda let loop nil not ns or progn quote \
            recur require set setq true when",
        kinds: "",
        name_style: NameStyle::Program,
    },
    Language {
        names: "sh bash shell zsh fish console terminal shellsession powershell ps1 pwsh bat cmd bashrc zshrc profile \
            dockerfile docker containerfile",
        comment: &["#"],
        block: None,
        quotes: &[quote("\"", "\"", true, true), quote("'", "'", false, true)],
        keywords: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER VOLUME WORKDIR alias \
            begin break case cd continue do done echo elif else end esac eval exec exit export false fi for foreach \
            function if in local param read readonly return select set shift source sudo then trap true unset until \
            while",
        kinds: "",
        name_style: NameStyle::Shell,
    },
    Language {
        names: "sql mysql pgsql postgres postgresql sqlite plsql tsql",
        comment: &["--"],
        block: C_BLOCK,
        quotes: &[
            quote("'", "'", false, true),
            quote("\"", "\"", false, false),
        ],
        keywords: "add all alter analyze and any as asc begin between by cascade case check column commit conflict \
            constraint create cross current_timestamp database default delete desc distinct do drop else end except \
            exists explain false foreign from full function grant group having if ilike in index inner insert \
            intersect into is join key left like limit materialized not null offset on or order outer over partition \
            primary references returning returns right rollback select set table then to transaction trigger true \
            truncate union unique update using values view when where with",
        kinds: "bigint bigserial blob boolean bytea char date decimal double float int integer json jsonb numeric real \
            serial smallint text timestamp timestamptz uuid varchar",
        name_style: NameStyle::Sql,
    },
    Language {
        names: "json jsonc json5 jsonl ndjson css scss sass less geojson",
        comment: &["//"],
        block: C_BLOCK,
        quotes: C_QUOTES,
        keywords: "false from important include inherit mixin none null to true",
        kinds: "",
        name_style: NameStyle::Colon,
    },
    Language {
        names: "yaml yml",
        comment: &["#"],
        block: None,
        quotes: &[quote("\"", "\"", true, true), quote("'", "'", false, true)],
        keywords: "false no null off on true yes",
        kinds: "",
        name_style: NameStyle::Colon,
    },
    Language {
        names: "toml ini cfg conf properties env dotenv editorconfig hcl terraform tf lock service desktop",
        comment: &["#", ";"],
        block: None,
        quotes: LINES,
        keywords: "data false module null output provider resource true variable",
        kinds: "",
        name_style: NameStyle::Equals,
    },
    Language {
        names: "html htm xml xhtml svg vue svelte astro plist csproj xsd rss",
        comment: &[],
        block: Some(("<!--", "-->")),
        quotes: &[quote("\"", "\"", false, true), quote("'", "'", false, true)],
        keywords: "",
        kinds: "",
        name_style: NameStyle::Markup,
    },
    Language {
        names: "diff patch",
        comment: &[],
        block: None,
        quotes: &[],
        keywords: "",
        kinds: "",
        name_style: NameStyle::Diff,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn language_names_are_unique() {
        let mut names = BTreeSet::new();
        for name in LANGUAGES.iter().flat_map(|it| it.names.split(' ')) {
            assert!(names.insert(name), "{name} is listed twice");
        }
    }

    #[test]
    fn a_language_is_found_by_name_extension_or_path() {
        for (name, expected) in [
            ("rust", "rust"),
            ("Python", "python"),
            ("src/main.rs", "rust"),
            ("a/Dockerfile", "sh"),
            ("Makefile", "perl"),
            ("app.test.tsx", "javascript"),
        ] {
            assert_eq!(
                find(name).and_then(|it| it.names.split(' ').next()),
                Some(expected),
                "{name}"
            );
        }
        assert!(find("").is_none());
        assert!(find("text").is_none());
    }
}
