//! Stubs for systems that cannot confine a process: nothing is enforced.

use super::{BuildError, Confined, Confinement};
use crate::Spec;

pub(crate) struct Jail;

impl Jail {
    #[expect(clippy::unnecessary_wraps, reason = "same signature as on Linux")]
    pub(crate) fn build(
        confinement: &Confinement,
        _: &Spec,
    ) -> Result<(Self, Confined), BuildError> {
        let granted = confinement.read.iter().chain(&confinement.write);
        let confined = Confined {
            enforced: confinement.enforced(),
            missing: granted
                .map(|granted| granted.path.clone())
                .filter(|path| !path.exists())
                .collect(),
        };
        Ok((Self, confined))
    }
}
