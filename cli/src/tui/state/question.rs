//! A tool call that is waiting for confirmation.

use std::{cell::RefCell, rc::Rc};

use ratatui::text::Line;
use zot_host::{
    ApprovalRequest, Preview,
    approval::{Grants, PendingCall},
};
use zot_protocol::{ApprovalRule, Object};

use super::{AnswerDelay, step_wrapping};
use crate::clean;

/// The maximum size of a rule to save, in bytes. A rule for one exact call contains the call's
/// arguments, which can be long.
const MAX_SAVED_BYTES: usize = 4 * 1024;

/// A copy of an [`ApprovalRequest`].
#[derive(Debug, Clone)]
pub(crate) struct AskedCall {
    /// The extension that makes the call, or `None` for the model.
    pub(crate) caller: Option<String>,
    pub(crate) tool: String,
    pub(crate) args: Object,
    pub(crate) preview: Option<Preview>,
    /// The rule that requires confirmation.
    pub(crate) rule: Option<ApprovalRule>,
}

impl AskedCall {
    pub(crate) fn of(request: &ApprovalRequest<'_>) -> Self {
        let PendingCall { caller, tool, args } = request.call;
        Self {
            caller: caller.map(str::to_owned),
            tool: tool.to_owned(),
            args: args.clone(),
            preview: request.preview.cloned(),
            rule: request.rule.cloned(),
        }
    }

    pub(crate) fn pending(&self) -> PendingCall<'_> {
        PendingCall {
            caller: self.caller.as_deref(),
            tool: &self.tool,
            args: &self.args,
        }
    }
}

/// A possible answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Yes,
    /// Yes, and yes to all calls that the rule allows.
    Always(Box<ApprovalRule>),
    /// Yes, and yes to all calls.
    StopAsking,
    No,
}

/// A question about a tool call.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) number: u64,
    pub(crate) call: AskedCall,
    /// The answers with their keys and labels, in display order. The last one is [`Answer::No`].
    pub(crate) answers: Vec<(char, String, Answer)>,
    pub(crate) selected: usize,
    /// Whether to also save the rule of an [`Answer::Always`] in config.json.
    pub(crate) saves: bool,
    /// The first visible line of the body.
    pub(crate) scroll: usize,
    pub(crate) delay: AnswerDelay,
    /// The lines of the body, and the width that they are wrapped to. Cached, because a body can be
    /// long and the screen is redrawn often.
    body: RefCell<Option<(u16, Body)>>,
}

/// The lines of a question's body.
pub(crate) type Body = Rc<[Line<'static>]>;

impl Question {
    pub(crate) fn new(number: u64, call: AskedCall) -> Self {
        let answers = answers(&call);
        Self {
            number,
            call,
            answers,
            selected: 0,
            saves: false,
            scroll: 0,
            delay: AnswerDelay::default(),
            body: RefCell::default(),
        }
    }

    /// Returns the body. Calls `draw` if it has not been drawn at this width.
    pub(crate) fn body(&self, width: u16, draw: impl FnOnce() -> Vec<Line<'static>>) -> Body {
        let mut body = self.body.borrow_mut();
        match &*body {
            Some((drawn_for, body)) if *drawn_for == width => Rc::clone(body),
            _ => {
                let new: Body = draw().into();
                *body = Some((width, Rc::clone(&new)));
                new
            }
        }
    }

    pub(crate) fn step(&mut self, by: isize) {
        self.selected = step_wrapping(self.selected, by, self.answers.len());
    }

    /// Returns the index of the answer with this key: its letter or its number.
    pub(crate) fn answer_with(&self, key: char) -> Option<usize> {
        let by_letter = self.answers.iter().position(|(letter, ..)| *letter == key);
        let number = key.to_digit(10).map(|digit| digit as usize);
        let by_number = number.and_then(|number| number.checked_sub(1));
        by_letter.or(by_number.filter(|at| *at < self.answers.len()))
    }
}

/// Reports whether a rule is short enough to save.
pub(crate) fn can_save(rule: &ApprovalRule) -> bool {
    rule.to_string().len() <= MAX_SAVED_BYTES
}

fn answers(call: &AskedCall) -> Vec<(char, String, Answer)> {
    let Grants {
        call: exact,
        prefix,
        tool,
        ..
    } = Grants::of(&call.pending());
    let always = |rule| Answer::Always(Box::new(rule));
    let is_command = prefix.is_some() || exact.command.is_some();
    let this = if is_command { "command" } else { "exact call" };
    let of = match &call.caller {
        Some(extension) => format!(" for {}", clean::line(extension)),
        None => String::new(),
    };
    let mut answers = vec![
        ('y', "yes".to_owned(), Answer::Yes),
        ('c', format!("always allow this {this}{of}"), always(exact)),
    ];
    if let Some(prefix) = prefix {
        let pattern = clean::visible(prefix.command.as_deref().unwrap_or_default());
        answers.push(('p', format!("always allow `{pattern}`{of}"), always(prefix)));
    }
    let name = clean::line(&call.tool);
    answers.push(('t', format!("always allow {name}{of}"), always(tool)));
    answers.push((
        'a',
        "allow everything and stop asking".to_owned(),
        Answer::StopAsking,
    ));
    answers.push(('n', "no".to_owned(), Answer::No));
    answers
}
