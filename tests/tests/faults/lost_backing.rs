//! A real file system whose disk fails for a while: an ext4 volume in a file, which the full file
//! system below cannot extend. The kernel then drops the pages that it could not write.

use std::{fs, panic::AssertUnwindSafe, path::Path, time::SystemTime};

use blackbox::{process::DEADLINE, small_disk::SmallDisk};
use futures_util::FutureExt as _;

use crate::{
    eventually::eventually,
    volumes::{Objects, Payments, Subject},
};

/// MiB of the file system below, and of the volume.
const BELOW: u32 = 64;
const VOLUME: u32 = 300;

/// Bytes of a write, and the writes of a burst: more than a checkpoint of an idle service needs.
const BYTES: usize = 30_000;
const BURST: usize = 60;

/// Bursts after which the disk must have failed.
const BURSTS: usize = 40;

/// Makes an ext4 volume in a file.
async fn volume() -> SmallDisk {
    let disk = SmallDisk::new(BELOW).await;
    let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    let made = format!(
        "truncate --size {VOLUME}M volume && mkfs.ext4 -q -F -E {options} volume && mkdir data && \
         mount -o loop volume data"
    );
    assert!(
        disk.run(&made).await,
        "no volume: loop devices need root (in a container: --privileged)"
    );
    disk
}

fn modified(data: &Path) -> SystemTime {
    let files = fs::read_dir(data).unwrap().map(|file| file.unwrap());
    let database = files.filter(|file| file.path().extension().is_some_and(|it| it == "db"));
    database.map(|file| file.metadata().unwrap().modified().unwrap()).max().unwrap()
}

/// Writes, and waits until the idle service has copied the log. Ends with a panic if the service
/// ends.
async fn write<S: Subject>(subject: &mut S, data: &Path) {
    let before = modified(data);
    for _ in 0..BURST {
        let _ = subject.write(BYTES).await;
    }
    let process = subject.process();
    let copied = async || {
        assert!(process.resident().is_some(), "the service has ended");
        (modified(data) > before).then_some(())
    };
    eventually("the log is copied", DEADLINE, copied).await;
}

async fn survives<S: Subject>() {
    let disk = volume().await;
    let inside = disk.path().join("data");
    let inside = inside.to_str().unwrap();
    let variables = [("OBJSTORE_DATA_DIR", inside), ("PAYMENTS_DATA_DIR", inside)];
    let mut subject = S::start(&disk, &variables).await;
    let data = disk.seen_from_here().join("data");
    write(&mut subject, &data).await;
    disk.run("dd if=/dev/zero of=filler bs=64K; dd if=/dev/zero of=last bs=4K; true").await;

    let load = async {
        for _ in 0..BURSTS {
            write(&mut subject, &data).await;
        }
    };
    let load = AssertUnwindSafe(load).catch_unwind().await;
    assert!(load.is_err(), "the service goes on after a disk that failed");
    subject.process().logged(|line| line.contains("the disk failed: the service ends")).await;
    // A disk that is well again is mounted anew: ext4 may have become read-only.
    assert!(disk.run("rm filler last && umount data && mount -o loop volume data").await);
    subject.is_found_in(Path::new(inside), Some(&disk)).await;
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(&data).unwrap().map(|file| file.unwrap()) {
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
    }
    S::is_whole(copy.path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_survive_a_real_disk_that_fails_for_a_while() {
    survives::<Objects>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_survive_a_real_disk_that_fails_for_a_while() {
    survives::<Payments>().await;
}
