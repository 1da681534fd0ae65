//! An extension that behaves like the one in the Go program's quick start.

use serde_json::Value;
use zot_test_support::fixture;

use crate::support::conform;

#[test]
fn the_python_quick_start_passes_every_must() {
    let folder = fixture("quick-start");
    let dir = folder.to_str().expect("valid UTF-8");
    for profile in ["quick", "safe", "full"] {
        // Use a generous time scale, because the machine may be busy.
        let args = [dir, "--profile", profile, "--report", "json"];
        let output = conform(&[&args[..], &["--timeout-scale", "3"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let outcomes = report["outcomes"].as_array().expect("an array");
        for outcome in outcomes.iter().filter(|it| it["level"] == "must") {
            let verdict = outcome["verdict"].as_str().expect("a string");
            assert!(
                matches!(verdict, "pass" | "not_applicable" | "withheld"),
                "{} {verdict} {}",
                outcome["id"],
                outcome["findings"]
            );
        }
        assert_eq!(output.status.code(), Some(0), "{profile}");
    }
}
