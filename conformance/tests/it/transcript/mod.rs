//! Transcripts, through the library's door.

mod matching;
mod parse;
