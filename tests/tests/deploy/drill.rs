//! `deploy/restore-drill` beside services that run.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use blackbox::{
    payments::{self, Payments},
    postgres::{Cluster, Database, directory},
    process::{DEADLINE, output, run},
    project::root,
    service::{Program, Service, Stopped},
};
use tempfile::TempDir;
use tokio::{process::Command, select, time::timeout};

use crate::writes::{Charges, Objects, Writes, succeeds};

const WRITES: usize = 50;

/// A running service with some writes, and a folder for its backups.
struct Scene<W: Writes> {
    service: Service<W::To>,
    writes: W,
    folder: TempDir,
}

impl<W: Writes> Scene<W> {
    async fn on(database: Option<Database>) -> Self {
        let service = Stopped::<W::To>::on(database, &[]).start().await;
        let writes = W::begin(&service).await;
        for _ in 0..WRITES {
            writes.write().await;
        }
        Self { service, writes, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("backup")
    }

    /// Writes a backup to [`Self::file`].
    async fn backs_up(&self) {
        match self.service.data().database() {
            Some(database) => database.dump(&self.file()),
            None => {
                let file = self.file();
                succeeds(self.service.data(), &["backup", "--to", file.to_str().unwrap()]).await;
            }
        }
    }

    /// Runs the drill, perhaps with this backup. Returns its exit code and output. Nothing is left.
    async fn drill(&self, file: Option<&Path>) -> (Option<i32>, String) {
        let programs = self.service.data().command().as_std().get_program().to_owned();
        let programs = Path::new(&programs).parent().unwrap().display().to_string();
        let path = format!("{programs}:{}:/usr/bin:/bin", directory().display());
        self.drill_with(&path, file).await
    }

    /// [`Self::drill`] with this `PATH`.
    async fn drill_with(&self, path: &str, file: Option<&Path>) -> (Option<i32>, String) {
        let (place, scratch) = (self.service.data(), tempfile::tempdir().unwrap());
        let mut command = Command::new(root().join("deploy/restore-drill"));
        command.arg(W::To::NAME).args(file).env_clear().env("PATH", path);
        command.env("TMPDIR", scratch.path()).kill_on_drop(true);
        match place.database() {
            Some(database) => {
                command.env(W::To::DATABASE_URL, database.url());
                command.env("DRILL_DATABASE_URL", database.url());
            }
            None => drop(command.env(W::To::DATA_DIR, place.data())),
        }
        let ended = timeout(DEADLINE, command.output()).await.unwrap().unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
        if let Some(database) = place.database() {
            let left = "SELECT count(*) FROM pg_database WHERE datname LIKE 'drill%'";
            assert_eq!(database.run(left), "0");
        }
        (ended.status.code(), output(&ended))
    }

    /// The drill succeeds during writes.
    async fn is_reliable(&self) {
        let write = async {
            loop {
                self.writes.write().await;
            }
        };
        let (code, output) = select! {
            () = write => unreachable!("it writes until the end"),
            ended = self.drill(None) => ended,
        };
        assert_eq!((code, &*output), (Some(0), "the backup can be relied on\n"));
        self.writes.are_in(&self.service, WRITES).await;
    }

    /// Says why the backup in [`Self::file`] cannot be relied on.
    async fn is_unreliable(&self, why: &str) {
        let (code, output) = self.drill(Some(&self.file())).await;
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains(why), "{output}");
    }
}

async fn drills<W: Writes>(database: Option<Database>) -> Scene<W> {
    let scene = Scene::<W>::on(database).await;
    scene.is_reliable().await;
    scene.backs_up().await;
    let (code, output) = scene.drill(Some(&scene.file())).await;
    assert_eq!(code, Some(0), "{output}");
    let file = fs::OpenOptions::new().write(true).open(scene.file()).unwrap();
    let length = file.metadata().unwrap().len();
    if scene.service.data().database().is_some() {
        file.set_len(length / 2).unwrap();
        scene.is_unreliable("it cannot be restored").await;
    } else {
        let half = usize::try_from(length / 2).unwrap();
        file.write_all_at(&vec![0; half], length / 2).unwrap();
        scene.is_unreliable("it is damaged").await;
    }
    scene
}

#[tokio::test]
async fn damaged_backups_of_sqlite_fail_the_drill() {
    drills::<Objects>(None).await;
    drills::<Charges>(None).await;
}

#[tokio::test]
async fn damaged_backups_of_postgresql_fail_the_drill() {
    // Apart: no other drill runs on this server.
    drills::<Objects>(Some(Cluster::apart().database())).await;
    drills::<Charges>(Some(Cluster::apart().database())).await;
}

#[tokio::test]
async fn a_backup_with_wrong_values_fails_the_drill() {
    let scene = Scene::<Charges>::on(None).await;
    scene.backs_up().await;
    let wrong = payments::Stopped::on(None, &[]);
    let copy = wrong.data().join(Payments::FILE);
    fs::copy(scene.file(), &copy).unwrap();
    assert_eq!(wrong.change("UPDATE transactions SET amount = amount + 1 WHERE id = (SELECT min(id) FROM transactions)"), 1);
    fs::copy(copy, scene.file()).unwrap();
    scene.is_unreliable("payments-svc cannot use it").await;
}

#[tokio::test]
async fn a_backup_of_another_service_fails_the_drill() {
    let (scene, other) = (Scene::<Charges>::on(None).await, Scene::<Charges>::on(None).await);
    other.writes.write().await;
    other.backs_up().await;
    fs::copy(other.file(), scene.file()).unwrap();
    scene.is_unreliable("the backup is of another one").await;
}

#[tokio::test]
async fn a_drill_that_cannot_begin_says_what_is_missing() {
    let scene = Scene::<Charges>::on(None).await;
    let (code, output) = scene.drill_with("/usr/bin:/bin", None).await;
    assert_eq!((code, &*output), (Some(2), "there is no program payments-svc in PATH\n"));
    let file = scene.file();
    let (code, output) = scene.drill(Some(&file)).await;
    assert_eq!((code, output), (Some(2), format!("there is no file {}\n", file.display())));
}

#[tokio::test]
async fn a_drill_without_settings_explains_itself() {
    let mut command = Command::new(root().join("deploy/restore-drill"));
    command.arg("payments-svc").env_clear().env("PATH", "/usr/bin:/bin");
    let ended = run(command).await;
    assert_eq!(ended.status.code(), Some(2));
    assert!(output(&ended).contains("PAYMENTS_DATA_DIR"), "{}", output(&ended));
}
