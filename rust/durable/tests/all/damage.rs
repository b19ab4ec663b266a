//! A file that was cut or changed is refused, or has what was written; nothing is invented.
use std::fs;

use ringview_core::Error;
use ringview_engine::Direction;

use crate::common::{change, define, described, open, rows};

/// A file that was closed, and what it holds.
fn file(folder: &std::path::Path) -> (Vec<u8>, Vec<String>) {
    let path = folder.join("whole");
    let mut db = open(&path).unwrap();
    define(&mut db);
    for id in 0..6 {
        let shop = ["north", "south"][id as usize % 2];
        change(
            &mut db,
            Direction::Insert,
            &rows(&[(id, shop, id), (id + 100, shop, 1)]),
        )
        .unwrap();
    }
    let held = described(&db);
    drop(db);
    (fs::read(path).unwrap(), held)
}

fn check(bytes: &[u8], path: &std::path::Path, held: &[String]) -> bool {
    fs::write(path, bytes).unwrap();
    let opened = open(path);
    fs::remove_file(path).unwrap();
    match opened {
        Ok(db) => {
            assert_eq!(described(&db), held);
            true
        }
        Err(Error::Snapshot { .. } | Error::Storage { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_file_that_was_cut_is_refused_or_opens() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, held) = file(folder.path());
    let path = folder.path().join("cut");
    assert!(check(&whole, &path, &held));
    let step = whole.len() / 60;
    let ends = (1..60).map(|part| part * step).chain(1..12);
    for end in ends {
        check(&whole[..end], &path, &held);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_file_that_was_cut_anywhere_is_refused_or_opens() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, held) = file(folder.path());
    let path = folder.path().join("cut");
    // Around the ends of pages, and at bytes within them.
    let ends = (0..whole.len()).filter(|end| matches!(end % 4096, 0 | 1 | 63 | 1021 | 4095));
    for end in ends {
        check(&whole[..end], &path, &held);
    }
}

#[test]
fn a_file_with_changed_bytes_is_refused_or_right() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, held) = file(folder.path());
    let path = folder.path().join("changed");
    let mut refused = 0;
    // Most of a file is room: bytes that are there are changed.
    let there: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] != 0).collect();
    for &at in there.iter().step_by(there.len() / 150) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        refused += usize::from(!check(&bytes, &path, &held));
    }
    assert!(refused > 10, "{refused} of 150 were refused");
}

#[test]
fn what_is_no_database_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, "a,b\n1,2\n".repeat(1000)).unwrap();
    let problem = open(&path).unwrap_err().to_string();
    assert!(problem.contains("is no database of ringview"), "{problem}");
    let other = folder.path().join("other");
    drop(redb::Database::create(&other).unwrap());
    let problem = open(&other).unwrap_err().to_string();
    assert!(problem.contains("is no database of ringview"), "{problem}");
    let problem = open(&folder.path().join("no/where")).unwrap_err();
    assert!(matches!(problem, Error::Storage { .. }), "{problem}");
}

#[test]
fn a_later_version_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later");
    drop(open(&path).unwrap());
    let file = redb::Database::open(&path).unwrap();
    let write = file.begin_write().unwrap();
    {
        let table: redb::TableDefinition<'_, &str, &[u8]> =
            redb::TableDefinition::new("ringview.head");
        let mut heads = write.open_table(table).unwrap();
        let head = br#"{"magic": "ringview database", "version": 7, "what comes": "later"}"#;
        heads.insert("head", &head[..]).unwrap();
    }
    write.commit().unwrap();
    drop(file);
    let problem = open(&path).unwrap_err().to_string();
    assert!(problem.contains("a later version (layout 7"), "{problem}");
}
