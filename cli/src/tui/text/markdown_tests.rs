//! Examples of rendered Markdown.

use insta::assert_snapshot;

use super::{
    markdown,
    tests::{lines, marked},
};
use crate::tui::theme::Theme;

fn plain(source: &str, width: u16) -> String {
    lines(&markdown(source, width, &Theme::plain())).join("\n")
}

fn coloured(source: &str, width: u16) -> String {
    marked(&markdown(source, width, &Theme::dark()))
}

#[test]
fn inline_styles() {
    let source = "# Title\n## Part\n### Detail\n\nSome *leaning*, **bold**, ***both***, ~~gone~~ words and `code`.\nA second line.";
    assert_snapshot!(coloured(source, 60), @r"
    <cyan bold underlined:Title>

    <cyan bold:Part>

    <bold:Detail>

    Some <italic:leaning>, <bold:bold>, <bold italic:both>, <crossed_out:gone> words and <cyan:code>.
    A second line.
    ");
}

#[test]
fn code_is_marked_without_colours() {
    assert_snapshot!(plain("Call `f()`:\n```rust\nf();\n\n```\nThen `**`.", 40), @r"
    Call `f()`:

      rust
      f();


    Then `**`.
    ");
}

#[test]
fn nested_and_numbered_lists() {
    let source = "\
To do:
- one that is too long for its line
- two
  - inner
    1. deep
- [x] done
- [ ] open

1. first

   More of it.
1. second
  - by two only
  - again
1. third

8) eight
9) nine
10) ten";
    assert_snapshot!(plain(source, 24), @r"
    To do:

    • one that is too long
      for its line
    • two
      ◦ inner
        1. deep
    [✓] done
    [ ] open

    1. first

       More of it.

    2. second
       ◦ by two only
       ◦ again
    3. third

    8. eight
    9. nine
    10. ten
    ");
}

#[test]
fn quotes_rules_and_links() {
    let source = "\
> A quote of more words than fit
> > and one within.

> [!WARNING]
> Take care.

---

See [the page](https://a.example/x), <https://b.example> and ![a cat](cat.png).

[1]: https://c.example";
    assert_snapshot!(plain(source, 30), @r"
    │ A quote of more words than
    │ fit
    │
    │ │ and one within.

    │ Warning
    │ Take care.

    ──────────────────────────────

    See the page
    (https://a.example/x),
    https://b.example and image: a
    cat (cat.png).

    [1]: https://c.example
    ");
}

#[test]
fn a_code_block_shows_its_language_and_is_highlighted() {
    let source = "Before.\n```rust\n// A remark\nfn main() {\n\tprintln!(\"hi\");\n}\n```\n- item:\n  ```sh\n  ls -l\n  ```\n";
    assert_snapshot!(coloured(source, 60), @r#"
    Before.

      <dim:rust>
      <dim italic:// A remark>
      <magenta:fn> <blue:main>() {
          <blue:println>!(<green:"hi">);
      }

    <dim:• >item:

      <dim:  sh>
        ls -l
    "#);
}

const TABLE: &str = "\
| Name | Count | What it is for |
|:-----|------:|:--------------:|
| `a`  | 1 | short |
| **bold** | 12345 | a cell with more words than its column has room for |
| 漢字 | | x |";

#[test]
fn a_table_keeps_its_columns() {
    assert_snapshot!(plain(TABLE, 80), @r"
    Name │ Count │                   What it is for
    ─────┼───────┼────────────────────────────────────────────────────
    `a`  │     1 │                        short
    bold │ 12345 │ a cell with more words than its column has room for
    漢字 │       │                          x
    ");
}

#[test]
fn the_widest_table_column_shrinks_first() {
    assert_snapshot!(plain(TABLE, 40), @r"
    Name │ Count │      What it is for
    ─────┼───────┼──────────────────────────
    `a`  │     1 │           short
    bold │ 12345 │  a cell with more words
         │       │ than its column has room
         │       │            for
    漢字 │       │             x
    ");
}

#[test]
fn a_table_that_does_not_fit_becomes_a_list() {
    assert_snapshot!(plain(TABLE, 16), @r"
    Name: `a`
    Count: 1
    What it is for:
      short

    Name: bold
    Count: 12345
    What it is for:
      a cell with
      more words
      than its
      column has
      room for

    Name: 漢字
    Count:
    What it is for:
      x
    ");
}

#[test]
fn html_is_shown_as_text() {
    assert_snapshot!(plain("<details>\n<summary>More</summary>\n\ntext<br>next <b>bold</b> &amp; &#27;[31m\n</details>", 40), @r"
    <details>
    <summary>More</summary>

    text
    next <b>bold</b> & [31m

    </details>
    ");
}
