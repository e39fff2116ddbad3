//! A disk as a power cut leaves it: what was synced is there, and of the rest whatever fate wants.
//!
//! Files are known by their number, folders hold names. A file's bytes are kept when the file is synced, a name when its
//! folder is: a file whose folder was never synced is gone, and a rename is undone. That is less than today's file systems
//! give, and all that they promise.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::trace::{Kind, Operation};

/// What reaches the medium as a whole.
const SECTOR: usize = 512;

/// A folder that is written to.
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
    things: Vec<Thing>,
    /// The thing that has a file's number now: numbers are used again.
    by_node: HashMap<u64, usize>,
    /// Changes of names that are not kept yet, in order.
    naming: Vec<Naming>,
    /// As if the disk did not heed a sync: to show that a loss is found.
    deaf: bool,
}

#[derive(Debug, Clone)]
enum Thing {
    File(File),
    Folder(Folder),
    /// No store of ours makes one: it is left out of what is rebuilt, so that what needs it is missed.
    Link,
}

#[derive(Debug, Clone, Default)]
struct File {
    now: Vec<u8>,
    kept: Vec<u8>,
    /// What leads from the kept bytes to those of now.
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { place: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Debug, Clone, Default)]
struct Folder {
    now: BTreeMap<String, usize>,
    kept: BTreeMap<String, usize>,
}

/// One change of names: whole or not at all, also when it touches two folders.
#[derive(Debug, Clone)]
struct Naming(Vec<(usize, String, Option<usize>)>);

/// What becomes of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// All of it is lost.
    Lost,
    /// All of it is there, as after a kill.
    Kept,
    /// Names are there, bytes are not: a new file is empty.
    NamesOnly,
    /// Names and lengths are there; bytes that were added are NULs.
    NamesAndLengths,
    /// Bytes are there, names are not.
    BytesOnly,
    /// Every name and every sector for itself, in any order.
    Torn(u64),
}

/// What is in a rebuilt folder, by path below it; `None` is a folder.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl Disk {
    /// The folder as it is, all of it kept.
    pub fn of(root: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let node = fs::metadata(root).unwrap().ino();
        let mut disk = Self {
            root: root.canonicalize().unwrap(),
            things: vec![Thing::Folder(Folder::default())],
            by_node: HashMap::from([(node, 0)]),
            naming: Vec::new(),
            deaf: false,
        };
        disk.take_in(root, 0);
        disk
    }

    /// The same disk, heeding no sync.
    pub fn deaf(mut self) -> Self {
        self.deaf = true;
        self
    }

    fn take_in(&mut self, path: &Path, folder: usize) {
        use std::os::unix::fs::MetadataExt as _;
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            let thing = if kind.is_dir() {
                Thing::Folder(Folder::default())
            } else if kind.is_symlink() {
                Thing::Link
            } else {
                let bytes = fs::read(&path).unwrap();
                Thing::File(File {
                    now: bytes.clone(),
                    kept: bytes,
                    unsynced: Vec::new(),
                })
            };
            let known = self.by_node.get(&entry.metadata().unwrap().ino()).copied();
            let at = known.unwrap_or_else(|| self.add(thing));
            self.by_node.insert(entry.metadata().unwrap().ino(), at);
            let name = entry.file_name().into_string().unwrap();
            let Thing::Folder(holder) = &mut self.things[folder] else {
                unreachable!("a folder was listed");
            };
            holder.now.insert(name.clone(), at);
            holder.kept.insert(name, at);
            if kind.is_dir() {
                self.take_in(&path, at);
            }
        }
    }

    fn add(&mut self, thing: Thing) -> usize {
        self.things.push(thing);
        self.things.len() - 1
    }

    /// Takes in the next operation. One that failed has changed nothing.
    ///
    /// # Panics
    /// When it names what is not there: then something was done that the trace does not tell.
    pub fn note(&mut self, operation: &Operation) {
        if operation.result < 0 {
            return;
        }
        let place = usize::try_from(operation.place).unwrap();
        match operation.kind {
            Kind::Create => {
                let made = self.add(Thing::File(File::default()));
                self.by_node.insert(operation.node, made);
                // One without a name gets it by a link.
                if !operation.path.as_os_str().is_empty() {
                    self.name(vec![(&operation.path, Some(made))]);
                }
            }
            Kind::MakeFolder => {
                let made = self.add(Thing::Folder(Folder::default()));
                self.by_node.insert(operation.node, made);
                self.name(vec![(&operation.path, Some(made))]);
            }
            Kind::Symlink => {
                let made = self.add(Thing::Link);
                self.name(vec![(&operation.other, Some(made))]);
            }
            Kind::Link => {
                let thing = self.by_node[&operation.node];
                self.name(vec![(&operation.other, Some(thing))]);
            }
            Kind::Rename => {
                let thing = self.by_node[&operation.node];
                self.name(vec![
                    (&operation.path, None),
                    (&operation.other, Some(thing)),
                ]);
            }
            Kind::Unlink | Kind::RemoveFolder => self.name(vec![(&operation.path, None)]),
            Kind::Write => {
                let bytes = operation.bytes.clone();
                self.change(operation.node, Change::Write { place, bytes });
            }
            Kind::Truncate => self.change(operation.node, Change::Length(place)),
            Kind::Allocate => {
                let longer = self.file(operation.node).now.len().max(place);
                self.change(operation.node, Change::Length(longer));
            }
            Kind::Sync if !self.deaf => self.sync(operation.node),
            Kind::Sync
            | Kind::Tell
            | Kind::Open
            | Kind::Read
            | Kind::Stat
            | Kind::List
            | Kind::Lock => {}
        }
    }

    fn file(&mut self, node: u64) -> &mut File {
        match &mut self.things[self.by_node[&node]] {
            Thing::File(file) => file,
            other => panic!("{node} is no file but {other:?}"),
        }
    }

    fn change(&mut self, node: u64, change: Change) {
        let file = self.file(node);
        change.apply(&mut file.now);
        file.unsynced.push(change);
    }

    fn sync(&mut self, node: u64) {
        let at = self.by_node[&node];
        match &mut self.things[at] {
            Thing::File(file) => {
                file.kept.clone_from(&file.now);
                file.unsynced.clear();
            }
            Thing::Folder(_) => {
                let naming = std::mem::take(&mut self.naming);
                let (here, elsewhere): (Vec<_>, Vec<_>) = naming
                    .into_iter()
                    .partition(|naming| naming.0.iter().any(|(folder, ..)| *folder == at));
                self.naming = elsewhere;
                for naming in here {
                    naming.apply(&mut self.things, |folder| &mut folder.kept);
                }
            }
            Thing::Link => {}
        }
    }

    fn name(&mut self, effects: Vec<(&PathBuf, Option<usize>)>) {
        let effects = effects.into_iter().map(|(path, thing)| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (self.folder(path.parent().unwrap()), name, thing)
        });
        let naming = Naming(effects.collect());
        naming.apply(&mut self.things, |folder| &mut folder.now);
        self.naming.push(naming);
    }

    /// Where a folder is by now.
    fn folder(&self, path: &Path) -> usize {
        let below = path
            .strip_prefix(&self.root)
            .unwrap_or_else(|_| panic!("{} is outside", path.display()));
        below.iter().fold(0, |at, name| {
            let Thing::Folder(folder) = &self.things[at] else {
                panic!("{} leads through a file", path.display());
            };
            *folder
                .now
                .get(name.to_str().unwrap())
                .unwrap_or_else(|| panic!("{} was never made", path.display()))
        })
    }

    /// What is found after a power cut now.
    pub fn after_cut(&self, fate: Fate) -> Tree {
        let mut things = self.things.clone();
        let mut chance = Chance::new(fate);
        for naming in &self.naming {
            let there = match fate {
                Fate::Lost | Fate::BytesOnly => false,
                Fate::Kept | Fate::NamesOnly | Fate::NamesAndLengths => true,
                Fate::Torn(_) => chance.coin(),
            };
            if there {
                naming.apply(&mut things, |folder| &mut folder.kept);
            }
        }
        let mut tree = Tree::new();
        let mut folders = vec![(0, PathBuf::new())];
        let mut bytes: HashMap<usize, Vec<u8>> = HashMap::new();
        while let Some((at, path)) = folders.pop() {
            let Thing::Folder(folder) = &things[at] else {
                continue;
            };
            for (name, thing) in &folder.kept {
                let path = path.join(name);
                match &things[*thing] {
                    Thing::Folder(_) => {
                        tree.insert(path.clone(), None);
                        folders.push((*thing, path));
                    }
                    Thing::File(file) => {
                        // Two names of one file have one fate.
                        let content = bytes
                            .entry(*thing)
                            .or_insert_with(|| file.after_cut(fate, &mut chance));
                        tree.insert(path, Some(content.clone()));
                    }
                    Thing::Link => {}
                }
            }
        }
        tree
    }
}

impl File {
    fn after_cut(&self, fate: Fate, chance: &mut Chance) -> Vec<u8> {
        match fate {
            Fate::Lost | Fate::NamesOnly => self.kept.clone(),
            Fate::Kept | Fate::BytesOnly => self.now.clone(),
            Fate::NamesAndLengths => {
                let mut bytes = self.kept.clone();
                bytes.resize(self.now.len(), 0);
                bytes
            }
            Fate::Torn(_) => {
                let mut bytes = self.kept.clone();
                for change in &self.unsynced {
                    change.tear(&mut bytes, chance);
                }
                bytes
            }
        }
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { place, bytes } => put(to, *place, bytes),
            Self::Length(length) => to.resize(*length, 0),
        }
    }

    /// As [`apply`](Self::apply), where every sector may be missing.
    fn tear(&self, to: &mut Vec<u8>, chance: &mut Chance) {
        match self {
            Self::Write { place, bytes } => {
                let mut done = 0;
                while done < bytes.len() {
                    let at = place + done;
                    let end = (done + SECTOR - at % SECTOR).min(bytes.len());
                    if chance.coin() {
                        put(to, at, &bytes[done..end]);
                    }
                    done = end;
                }
            }
            Self::Length(length) => {
                if chance.coin() {
                    to.resize(*length, 0);
                }
            }
        }
    }
}

fn put(to: &mut Vec<u8>, place: usize, bytes: &[u8]) {
    let end = place + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[place..end].copy_from_slice(bytes);
}

impl Naming {
    fn apply(&self, things: &mut [Thing], names: fn(&mut Folder) -> &mut BTreeMap<String, usize>) {
        for (folder, name, thing) in &self.0 {
            let Thing::Folder(folder) = &mut things[*folder] else {
                unreachable!("names are in folders");
            };
            match thing {
                Some(thing) => names(folder).insert(name.clone(), *thing),
                None => names(folder).remove(name),
            };
        }
    }
}

/// Coins that fall the same way for the same seed.
struct Chance(u64);

impl Chance {
    fn new(fate: Fate) -> Self {
        match fate {
            Fate::Torn(seed) => Self(seed),
            _ => Self(0),
        }
    }

    /// By the generator known as `SplitMix64`.
    fn coin(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) & 1 == 1
    }
}

/// Writes a tree into an empty folder.
pub fn write_out(tree: &Tree, folder: &Path) {
    for (path, content) in tree {
        let path = folder.join(path);
        match content {
            None => fs::create_dir(&path),
            Some(bytes) => fs::write(&path, bytes),
        }
        .unwrap_or_else(|fault| panic!("cannot make {}: {fault}", path.display()));
    }
}

/// What is in a folder.
pub fn read_in(folder: &Path) -> Tree {
    Disk::of(folder).after_cut(Fate::Kept)
}

#[cfg(test)]
mod tests;
