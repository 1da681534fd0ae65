//! The measurements.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use zot_host::{
    clock,
    home::Home,
    message::{Block, Message, Role},
    session::Sessions,
};

use crate::{row, screen::Screen, support::World};

const MESSAGES: usize = 10_000;
const DEMO: [&str; 2] = ["--provider", "demo"];

/// A figure and its goal.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    goal: f64,
    unit: &'static str,
    measure: fn() -> f64,
    /// Divides the number of rounds, to keep slow measurements short.
    divisor: usize,
}

impl Row {
    pub(crate) fn all() -> [Self; 6] {
        let row = |what, goal, unit, measure, divisor| Self {
            what,
            goal,
            unit,
            measure,
            divisor,
        };
        [
            row(
                "first paint with an extension that never sends hello",
                50.0,
                "ms",
                first_paint,
                1,
            ),
            row(
                "first paint of --continue with 10,000 messages",
                150.0,
                "ms",
                long_paint,
                1,
            ),
            row(
                "last messages shown after --continue with 10,000 messages",
                150.0,
                "ms",
                long_shown,
                1,
            ),
            row("resize to redraw while text streams", 16.0, "ms", resize, 1),
            row(
                "2,000 deltas per second, share of one core",
                30.0,
                "%",
                deltas,
                5,
            ),
            row(
                "typing during a flood of notes, slowest of 50 keys",
                50.0,
                "ms",
                flood,
                3,
            ),
        ]
    }

    pub(crate) fn print(&self, rounds: usize) {
        let rounds = 0..rounds.div_ceil(self.divisor);
        let figure = row::median(rounds.map(|_| (self.measure)()).collect());
        let Self {
            what, goal, unit, ..
        } = self;
        row::line(
            what,
            &format!("<= {goal} {unit}"),
            &format!("{figure:.1} {unit}"),
            figure <= *goal,
            "",
        );
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Waits until the output contains the text, and returns the time at which it was found.
fn until(screen: &Screen, text: &str) -> Instant {
    let start = Instant::now();
    loop {
        if screen.has_written(text, 0) {
            return Instant::now();
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "timed out waiting for {text}\n{}",
            screen.text()
        );
        thread::sleep(Duration::from_micros(100));
    }
}

fn first_paint() -> f64 {
    let world = World::new();
    world.extension("mute", "sleep 1000");
    let start = Instant::now();
    let screen = Screen::start(&world, (80, 24), &DEMO);
    ms(until(&screen, "sk, / for commands") - start)
}

fn long_session(world: &World) {
    let sessions = Sessions::of(&Home::at(world.path("zot")), &world.work());
    let mut opened = sessions.create("demo", "demo");
    for number in 0..MESSAGES {
        let (role, text) = if number % 2 == 0 {
            (Role::User, format!("question {number}"))
        } else {
            let text = format!(
                "## Answer {number}\n\nSome `code` and **words**, a few lines of them:\n\n- one\n- two\n"
            );
            (Role::Assistant, text)
        };
        let message = Message {
            role,
            content: vec![Block::Text { text }],
            time: clock::now(),
        };
        let _ = opened.session.append(&message).expect("write the file");
    }
}

fn long(text: &str) -> f64 {
    let world = World::new();
    long_session(&world);
    let start = Instant::now();
    let args = ["--provider", "demo", "--continue"];
    let screen = Screen::start(&world, (80, 24), &args);
    ms(until(&screen, text) - start)
}

fn long_paint() -> f64 {
    long("sk, / for commands")
}

fn long_shown() -> f64 {
    long("Answer 9999")
}

/// Starts the demo model with a script that streams `pieces` pieces at about 2,000 per second.
fn streaming(world: &World, pieces: u32) -> Screen {
    let mut parts: Vec<Value> = Vec::new();
    for part in 0..pieces / 4 {
        let words: Vec<String> = (0..4).map(|word| format!("word{part}.{word} ")).collect();
        parts.push(json!({"text": words}));
        if part % 20 == 19 {
            parts.push(json!({"text": ["\n\n"]}));
        }
        parts.push(json!({"delay_ms": 1}));
    }
    let script = world.path("script.jsonl");
    fs::write(&script, json!(parts).to_string()).expect("write the file");
    let script = script.to_str().expect("the path is UTF-8");
    let args = ["--provider", "demo", "--script", script];
    let mut screen = Screen::start(world, (80, 24), &args);
    until(&screen, "0% of");
    screen.send("go");
    until(&screen, "word10.");
    screen
}

fn resize() -> f64 {
    let world = World::new();
    let mut screen = streaming(&world, 4_000);
    let mut times = Vec::new();
    for (columns, rows) in [(100, 30), (60, 20), (120, 40), (80, 24)] {
        thread::sleep(Duration::from_millis(23));
        let from = screen.written();
        let start = Instant::now();
        screen.resize(columns, rows);
        // zot starts the redraw by clearing the live area, and writes the frame right after that.
        while !screen.has_written("\r\x1b[J", from) {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "timed out waiting for the redraw"
            );
            thread::sleep(Duration::from_micros(50));
        }
        times.push(ms(start.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn deltas() -> f64 {
    const PIECES: u32 = 8_000;
    let world = World::new();
    let screen = streaming(&world, PIECES);
    let cpu = cpu_time(screen.pid());
    until(&screen, &format!("word{}.3", PIECES / 4 - 1));
    let used = cpu_time(screen.pid()) - cpu;
    // The nominal duration at 2,000 pieces per second. The actual duration depends on the precision
    // of this machine's timers.
    let seconds = f64::from(PIECES) / 2_000.0;
    used / seconds * 100.0
}

/// Returns the CPU time of a process in seconds.
fn cpu_time(pid: i32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is running");
    let (_, fields) = stat
        .rsplit_once(')')
        .expect("the name ends with a parenthesis");
    let ticks: f64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<f64>().expect("parse the ticks"))
        .sum();
    // `/proc` reports CPU time in ticks of 1/100 s (`USER_HZ`), whatever the kernel's own tick
    // rate.
    ticks / 100.0
}

fn flood() -> f64 {
    let world = World::new();
    world.extension(
        "flood",
        "echo '{\"type\":\"hello\",\"name\":\"flood\"}'; echo '{\"type\":\"ready\"}'; \
         exec yes '{\"type\":\"notify\",\"level\":\"info\",\"message\":\"water everywhere\"}'",
    );
    let mut screen = Screen::start(&world, (80, 24), &DEMO);
    until(&screen, "water everywhere");
    let mut slowest: f64 = 0.0;
    let mut typed = String::new();
    for key in "the quick brown fox jumps over the lazy dog 012345".chars() {
        typed.push(key);
        let start = Instant::now();
        screen.keys(&key.to_string());
        let shown = typed.trim_end().to_owned();
        while !screen.text().contains(&shown) {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "timed out waiting for {shown}"
            );
            thread::sleep(Duration::from_micros(200));
        }
        slowest = slowest.max(ms(start.elapsed()));
        thread::sleep(Duration::from_millis(7));
    }
    slowest
}
