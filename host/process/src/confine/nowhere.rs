//! Where no system call confines a process: the confinement is a statement.

use super::{Confined, Confinement, Unbuilt};
use crate::Spec;

pub(crate) struct Jail;

impl Jail {
    #[expect(clippy::unnecessary_wraps, reason = "as on Linux, where it can fail")]
    pub(crate) fn build(confinement: &Confinement, _: &Spec) -> Result<(Self, Confined), Unbuilt> {
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
