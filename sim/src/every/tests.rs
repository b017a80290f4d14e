use super::*;

fn until() -> Until {
    Until::new(&Asked { seed: 1, until: None, states: 0, threads: 1, failures_max: 1 })
}

fn scene(name: &str) -> Recorded {
    let (name, text) = SCENES.iter().find(|(n, _)| *n == name).unwrap();
    Recorded::new(name, text).unwrap()
}

#[test]
fn every_crash_of_plain_writes_leaves_a_state_between_durable_and_attempted() {
    let mut report = Report::new(1);
    let puts = scene("puts");
    assert!(puts.crashes(0..puts.places.len(), &mut report, &until()));
    assert_eq!(report.failed(), 0);
    assert!(report.states > 900 && report.opened > 200, "{report:?}");
}

#[test]
fn crashes_of_recoveries_replay_by_their_name() {
    let mut report = Report::new(1);
    let families = scene("families");
    (0..5).for_each(|seed| families.deep(&mut Chance::new(seed), &mut report));
    assert_eq!(report.failed(), 0);
    assert!(report.deep > 0);
    let append = families.places.iter().filter(|place| place.inside.is_some()).nth(20).unwrap().call;
    let name = format!("families/{append}+1~torn/9~all");
    let told = replay(&name).unwrap();
    assert_eq!(told, replay(&name).unwrap());
    assert!(told.ends_with("holds") && told.contains("crash at call 9"), "{told}");
    assert!(replay("families/100000~all").is_err());
    assert!(replay("puts!40=EIO..~synced").is_ok());
}

/// Checks the checker: a disk that breaks its promise is detected.
#[test]
fn syncs_that_lie_lose_acknowledged_writes_and_that_is_seen() {
    let puts = scene("puts");
    let syncs = (1..).zip(&puts.ops).filter(|(_, op)| Strike::Lie.fits(**op)).map(|(call, _)| call);
    let lost = syncs.filter(|call| {
        let told = replay(&format!("puts!{call}=LIE~synced"));
        told.is_err_and(|words| words.starts_with("lost") || words.starts_with("refused"))
    });
    assert!(lost.count() >= 3);
}

#[test]
fn every_crash_of_an_ingestion_leaves_all_of_its_files_or_none() {
    let mut report = Report::new(1);
    let ingestion = scene("ingestion");
    assert!(ingestion.crashes(0..ingestion.places.len(), &mut report, &until()));
    assert_eq!(report.failed(), 0, "{report:?}");
    assert!(report.states > 2000, "{report:?}");
}
