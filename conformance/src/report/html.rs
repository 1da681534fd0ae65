use crate::report::Report;
use std::io::{self, Write};
pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", super::json::for_page(report)?)
}
