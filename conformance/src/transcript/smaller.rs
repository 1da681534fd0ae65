//! Smaller transcripts, for whoever looks for the smallest that still fails.

use std::ops::Range;

use super::{
    Step, Transcript, Verb,
    names::{Names, idle_split},
};

/// Transcripts with fewer steps, the smallest first: without one half, without one quarter, at last without one step.
///
/// Each parses: what used a name that is gone is gone too. The head and the handshake stay; remarks, which say something
/// about steps that may be gone, do not.
pub fn smaller(transcript: &Transcript) -> impl Iterator<Item = Transcript> + '_ {
    let droppable: Vec<usize> = transcript
        .steps
        .iter()
        .enumerate()
        .filter(|(_, step)| !matches!(step.verb, Verb::UseHandshake | Verb::Remark(_)))
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
    /// This without the steps of these indices, and without what cannot be without them.
    #[must_use]
    pub fn without_range(&self, range: Range<usize>) -> Self {
        let range: Vec<usize> = range.collect();
        self.without(&range)
    }

    /// `gone` is sorted.
    fn without(&self, gone: &[usize]) -> Self {
        let mut names = Names::default();
        let kept = self.steps.iter().enumerate();
        let kept = kept.filter(|(index, step)| {
            gone.binary_search(index).is_err()
                && !matches!(step.verb, Verb::Remark(_))
                && names.admit(step).is_ok()
        });
        let mut steps: Vec<Step> = kept.map(|(_, step)| step.clone()).collect();
        while let Some(index) = idle_split(&steps) {
            steps.remove(index);
        }
        Self {
            head: self.head.clone(),
            steps,
        }
    }
}
