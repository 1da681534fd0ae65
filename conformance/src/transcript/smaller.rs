//! Smaller transcripts, for finding the smallest one that still fails.

use super::{
    Step, Transcript, Verb,
    names::{Names, unused_split},
};

/// Returns transcripts with fewer steps, the smallest first: without one half, without one quarter,
/// and finally without one step.
///
/// Each of them parses: steps that use a removed name are removed too. The header and the handshake
/// are kept. Comments are removed, because they may describe removed steps.
pub fn smaller(transcript: &Transcript) -> impl Iterator<Item = Transcript> + '_ {
    let droppable: Vec<usize> = transcript
        .steps
        .iter()
        .enumerate()
        .filter(|(_, step)| !matches!(step.verb, Verb::UseHandshake | Verb::Comment(_)))
        .map(|(index, _)| index)
        .collect();
    let count = droppable.len();
    let sizes = std::iter::successors(Some(count.div_ceil(2)), |size| {
        (*size > 1).then(|| size.div_ceil(2))
    });
    sizes
        .take_while(|size| *size > 0)
        .flat_map(move |size| {
            (0..count)
                .step_by(size)
                .map(move |start| start..count.min(start + size))
        })
        .map(move |range| transcript.without(&droppable[range]))
}

impl Transcript {
    /// Returns the transcript without the steps at these indices, which must be sorted, and the
    /// steps that depend on them.
    fn without(&self, gone: &[usize]) -> Self {
        let mut names = Names::default();
        let kept = self.steps.iter().enumerate();
        let kept = kept.filter(|(index, step)| {
            gone.binary_search(index).is_err()
                && !matches!(step.verb, Verb::Comment(_))
                && names.admit(step).is_ok()
        });
        let mut steps: Vec<Step> = kept.map(|(_, step)| step.clone()).collect();
        while let Some(index) = unused_split(&steps) {
            steps.remove(index);
        }
        Self {
            head: self.head.clone(),
            steps,
        }
    }
}
