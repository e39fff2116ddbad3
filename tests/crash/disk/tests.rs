use super::*;
use pretty_assertions::assert_eq;

fn operation(kind: Kind, node: u64, path: &str) -> Operation {
    Operation {
        kind,
        result: 0,
        node,
        place: 0,
        path: Path::new("/r").join(path),
        other: PathBuf::new(),
        bytes: Vec::new(),
    }
}

fn moved(kind: Kind, node: u64, path: &str, other: &str) -> Operation {
    Operation {
        other: Path::new("/r").join(other),
        ..operation(kind, node, path)
    }
}

fn write(node: u64, place: u64, bytes: &[u8]) -> Operation {
    Operation {
        place,
        bytes: bytes.to_vec(),
        ..operation(Kind::Write, node, "")
    }
}

fn length(node: u64, place: u64) -> Operation {
    Operation {
        place,
        ..operation(Kind::Truncate, node, "")
    }
}

fn sync(node: u64) -> Operation {
    operation(Kind::Sync, node, "")
}

fn disk(operations: &[Operation]) -> Disk {
    let mut disk = Disk {
        root: PathBuf::from("/r"),
        things: vec![Thing::Folder(Folder::default())],
        by_node: HashMap::from([(1, 0)]),
        naming: Vec::new(),
        deaf: false,
    };
    for operation in operations {
        disk.note(operation);
    }
    disk
}

/// Paths with their bytes as text; a folder ends with a slash.
fn told(tree: &Tree) -> Vec<String> {
    tree.iter()
        .map(|(path, content)| match content {
            None => format!("{}/", path.display()),
            Some(bytes) => format!("{}={}", path.display(), String::from_utf8_lossy(bytes)),
        })
        .collect()
}

#[test]
fn bytes_are_kept_by_their_own_sync_and_names_by_that_of_their_folder() {
    let made = operation(Kind::Create, 2, "a");
    let cases: [(&[Operation], Fate, &[&str]); 8] = [
        (&[made.clone(), write(2, 0, b"x"), sync(2)], Fate::Lost, &[]),
        (
            &[made.clone(), write(2, 0, b"x"), sync(1)],
            Fate::Lost,
            &["a="],
        ),
        (
            &[made.clone(), write(2, 0, b"x"), sync(2), sync(1)],
            Fate::Lost,
            &["a=x"],
        ),
        (&[made.clone(), write(2, 0, b"x")], Fate::Kept, &["a=x"]),
        (&[made.clone(), write(2, 0, b"x")], Fate::NamesOnly, &["a="]),
        (
            &[made.clone(), write(2, 0, b"x")],
            Fate::NamesAndLengths,
            &["a=\0"],
        ),
        (&[made.clone(), write(2, 0, b"x")], Fate::BytesOnly, &[]),
        (
            &[
                made.clone(),
                write(2, 0, b"xyz"),
                sync(2),
                sync(1),
                length(2, 1),
                write(2, 1, b"w"),
            ],
            Fate::Lost,
            &["a=xyz"],
        ),
    ];
    for (operations, fate, expected) in cases {
        let found = told(&disk(operations).after_cut(fate));
        assert_eq!(found, expected, "{operations:?} {fate:?}");
    }
}

#[test]
fn a_rename_is_undone_whole_and_a_removal_too() {
    let before = [
        operation(Kind::MakeFolder, 2, "d"),
        operation(Kind::Create, 3, "d/t"),
        write(3, 0, b"x"),
        sync(3),
        sync(2),
        sync(1),
        moved(Kind::Rename, 3, "d/t", "a"),
    ];
    let renamed = disk(&before);
    assert_eq!(told(&renamed.after_cut(Fate::Lost)), ["d/", "d/t=x"]);
    assert_eq!(told(&renamed.after_cut(Fate::Kept)), ["a=x", "d/"]);
    // One sync of either folder is enough, and does both.
    for folder in [1, 2] {
        let mut synced = renamed.clone();
        synced.note(&sync(folder));
        assert_eq!(told(&synced.after_cut(Fate::Lost)), ["a=x", "d/"]);
        synced.note(&operation(Kind::Unlink, 3, "a"));
        assert_eq!(told(&synced.after_cut(Fate::Lost)), ["a=x", "d/"]);
        assert_eq!(told(&synced.after_cut(Fate::Kept)), ["d/"]);
    }
}

#[test]
fn a_hard_link_to_what_was_not_synced_is_empty() {
    let linked = disk(&[
        operation(Kind::Create, 2, "tmp"),
        write(2, 0, b"xy"),
        moved(Kind::Link, 2, "tmp", "log"),
        sync(1),
        operation(Kind::Unlink, 2, "tmp"),
    ]);
    assert_eq!(told(&linked.after_cut(Fate::Lost)), ["log=", "tmp="]);
    assert_eq!(told(&linked.after_cut(Fate::NamesAndLengths)), ["log=\0\0"]);
    assert_eq!(told(&linked.after_cut(Fate::Kept)), ["log=xy"]);
}

#[test]
fn a_torn_write_lacks_whole_sectors() {
    let mut torn = disk(&[operation(Kind::Create, 2, "a"), sync(1)]);
    torn.note(&write(2, 100, &[b'x'; 2000]));
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let tree = torn.after_cut(Fate::Torn(seed));
        let bytes = tree[Path::new("a")].clone().unwrap();
        let mut sectors = Vec::new();
        for (at, sector) in bytes.chunks(SECTOR).enumerate() {
            let own = if at == 0 {
                &sector[100.min(sector.len())..]
            } else {
                sector
            };
            assert!(own.iter().all(|it| *it == b'x') || own.iter().all(|it| *it == 0));
            sectors.push(own.contains(&b'x'));
        }
        while sectors.last() == Some(&false) {
            sectors.pop();
        }
        seen.insert(sectors);
    }
    // 100..512, two whole ones, 1536..2048, 2048..2100: each alone there or not.
    assert_eq!(seen.len(), 32);
}

#[test]
fn a_number_that_is_used_again_is_another_file() {
    let again = disk(&[
        operation(Kind::Create, 2, "a"),
        write(2, 0, b"old"),
        operation(Kind::Unlink, 2, "a"),
        operation(Kind::Create, 2, "b"),
        write(2, 0, b"new"),
    ]);
    assert_eq!(told(&again.after_cut(Fate::Kept)), ["b=new"]);
}

#[test]
fn who_heeds_no_sync_loses_all_and_a_failed_operation_changes_nothing() {
    let all = [
        operation(Kind::Create, 2, "a"),
        write(2, 0, b"x"),
        sync(2),
        sync(1),
        Operation {
            result: -28,
            ..write(2, 1, b"y")
        },
    ];
    assert_eq!(told(&disk(&all).after_cut(Fate::Lost)), ["a=x"]);
    let mut deaf = disk(&[]).deaf();
    for operation in &all {
        deaf.note(operation);
    }
    assert_eq!(told(&deaf.after_cut(Fate::Lost)), Vec::<String>::new());
    assert_eq!(told(&deaf.after_cut(Fate::Kept)), ["a=x"]);
}

#[test]
fn a_folder_on_disk_is_taken_in_and_written_out_again() {
    let from = tempfile::tempdir().unwrap();
    fs::create_dir_all(from.path().join("d/e")).unwrap();
    fs::write(from.path().join("d/f"), "x").unwrap();
    fs::hard_link(from.path().join("d/f"), from.path().join("g")).unwrap();
    let tree = Disk::of(from.path()).after_cut(Fate::Lost);
    assert_eq!(told(&tree), ["d/", "d/e/", "d/f=x", "g=x"]);
    let to = tempfile::tempdir().unwrap();
    write_out(&tree, to.path());
    assert_eq!(read_in(to.path()), tree);
}
