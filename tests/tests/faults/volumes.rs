//! Small volumes that a load fills. Writes are refused, but the store is never wedged.

use std::{fs, path::Path};

use blackbox::{
    http::Answer,
    objstore, payments,
    process::{DEADLINE, Process},
    small_disk::SmallDisk,
};
use serde_json::json;

use crate::{
    database::{Database, FILE},
    eventually::eventually,
};

const MIB: usize = 1 << 20;

/// MiB of the volumes.
const VOLUMES: [u32; 5] = [8, 24, 40, 60, 200];

/// MiB that a ballast leaves free at first, so that a load fills a large volume fast, too.
const FREE: u32 = 8;

/// Bytes of the values: large ones fill the volume, small ones its last free blocks.
const VALUES: [usize; 3] = [30_000, 3_000, 10];

/// Successive writes that have to be refused before the volume counts as full.
const REFUSALS: usize = 8;

/// A service with its data on a volume.
pub(crate) trait Subject: Sized {
    /// Starts a new service on a volume, with these variables.
    async fn start(disk: &SmallDisk, variables: &[(&str, &str)]) -> Self;
    /// Starts and stops a service with this data, maybe on a volume. Every confirmed write is there.
    async fn is_found_in(&self, data: &Path, volume: Option<&SmallDisk>);
    /// Checks that this data is not damaged.
    async fn is_whole(data: &Path);
    fn process(&self) -> &Process;
    async fn fetch(&self, path: &str) -> Answer;
    /// Writes about so many bytes. Returns the answer unless it was confirmed.
    async fn write(&mut self, bytes: usize) -> Result<(), Box<Answer>>;
    /// Checks that every confirmed write can be read.
    async fn read(&self);
}

pub(crate) struct Objects {
    service: objstore::Service,
    client: objstore::Client,
    set: Vec<objstore::Object>,
}

impl Subject for Objects {
    async fn start(disk: &SmallDisk, variables: &[(&str, &str)]) -> Self {
        let data_dir = ("OBJSTORE_DATA_DIR", disk.path().to_str().unwrap());
        let place = objstore::Stopped::new(&[&[data_dir], variables].concat());
        let command = disk.beside(&place.command());
        let service = place.start_with(command).await;
        let client = service.client().await;
        Self { service, client, set: Vec::new() }
    }

    async fn is_found_in(&self, data: &Path, volume: Option<&SmallDisk>) {
        let place = objstore::Stopped::new(&[("OBJSTORE_DATA_DIR", data.to_str().unwrap())]);
        let command = place.command();
        let command = volume.map_or(command, |volume| volume.beside(&place.command()));
        let service = place.start_with(command).await;
        let client = self.client.at(&service);
        for object in &self.set {
            assert!(client.get(&object.key).await == *object, "{}", object.key.name);
        }
        service.stop().await;
    }

    async fn is_whole(data: &Path) {
        Database::read(&data.join(FILE)).is_whole();
    }

    fn process(&self) -> &Process {
        self.service.process()
    }

    async fn fetch(&self, path: &str) -> Answer {
        self.client.fetch(path).await
    }

    async fn write(&mut self, bytes: usize) -> Result<(), Box<Answer>> {
        let value = json!({ "filler": "x".repeat(bytes) });
        let object = objstore::Object::new(&objstore::Key::fresh(), value.to_string());
        confirmed(self.client.post("/set", object.body()).await)?;
        self.set.push(object);
        Ok(())
    }

    async fn read(&self) {
        for object in &self.set {
            assert!(self.client.get(&object.key).await == *object, "{}", object.key.name);
        }
    }
}

pub(crate) struct Payments {
    service: payments::Service,
    merchant: payments::Merchant,
    paid: Vec<payments::Transaction>,
}

impl Subject for Payments {
    async fn start(disk: &SmallDisk, variables: &[(&str, &str)]) -> Self {
        let data_dir = ("PAYMENTS_DATA_DIR", disk.path().to_str().unwrap());
        let place = payments::Stopped::on(None, &[&[data_dir], variables].concat());
        let command = disk.beside(&place.command());
        let service = place.start_with(command).await;
        let merchant = service.merchant().await;
        Self { service, merchant, paid: Vec::new() }
    }

    async fn is_found_in(&self, data: &Path, volume: Option<&SmallDisk>) {
        let place = payments::Stopped::on(None, &[("PAYMENTS_DATA_DIR", data.to_str().unwrap())]);
        let command = place.command();
        let command = volume.map_or(command, |volume| volume.beside(&place.command()));
        let service = place.start_with(command).await;
        let app = self.merchant.app.at(&service);
        for paid in &self.paid {
            let _ = app.get(&format!("/transactions/{}", paid.id)).await.expect(200);
        }
        service.stop().await;
    }

    async fn is_whole(data: &Path) {
        let data_dir = ("PAYMENTS_DATA_DIR", data.to_str().unwrap());
        payments::Stopped::on(None, &[data_dir]).passes_check().await;
    }

    fn process(&self) -> &Process {
        self.service.process()
    }

    async fn fetch(&self, path: &str) -> Answer {
        self.service.fetch(path).await
    }

    async fn write(&mut self, bytes: usize) -> Result<(), Box<Answer>> {
        let mut payment = self.merchant.payment(payments::Card::VISA, "EUR", 100);
        payment["custom"] = json!({ "filler": "x".repeat(bytes) });
        let answer = confirmed(self.merchant.charge(&payment).await)?;
        self.paid.push(self.merchant.transaction(&answer));
        Ok(())
    }

    async fn read(&self) {
        for paid in &self.paid {
            let _ = self.merchant.app.get(&format!("/transactions/{}", paid.id)).await.expect(200);
        }
    }
}

fn confirmed(answer: Answer) -> Result<Answer, Box<Answer>> {
    if answer.status.is_success() { Ok(answer) } else { Err(Box::new(answer)) }
}

/// Writes until every write is refused in the way of a full disk.
async fn fill(subject: &mut impl Subject) {
    for bytes in VALUES {
        let mut refusals = 0;
        while refusals < REFUSALS {
            match subject.write(bytes).await {
                Ok(()) => refusals = 0,
                // A payment that could begin, and whose outcome could not be stored.
                Err(answer) if answer.text().contains("outcome_unknown") => refusals += 1,
                Err(answer) => {
                    answer.refused(503, "storage_unavailable");
                    assert_eq!(answer.header("retry-after"), Some("5"));
                    refusals += 1;
                }
            }
        }
    }
}

/// Fills a volume until writes are refused, frees one MiB, and writes again.
async fn is_usable_when_a_mebibyte_is_freed<S: Subject>(mebibytes: u32) {
    let disk = SmallDisk::new(mebibytes).await;
    let file = |name| disk.seen_from_here().join(name);
    fs::write(file("ballast"), vec![1; MIB * (mebibytes.saturating_sub(FREE) as usize)]).unwrap();
    fs::write(file("freed"), vec![1; MIB]).unwrap();
    let mut subject = S::start(&disk, &[]).await;
    assert!(subject.write(10).await.is_ok(), "{mebibytes} MiB: the volume has room at first");
    let ready = subject.fetch("/ready").await.expect(200).json();
    assert_eq!(ready, json!({ "status": "ready", "writes": true }));
    fill(&mut subject).await;

    let ready = subject.fetch("/ready").await.expect(200).json();
    let refused = json!({ "status": "ready", "writes": false, "reason": "disk_full" });
    assert_eq!(ready, refused, "{mebibytes} MiB");
    subject.read().await;
    fs::remove_file(file("freed")).unwrap();
    assert!(
        subject.write(10).await.is_ok(),
        "{mebibytes} MiB: the first write after one MiB is freed"
    );
    for _ in 0..10 {
        assert!(subject.write(3_000).await.is_ok(), "{mebibytes} MiB: there is room");
    }
    let accepts = async || {
        let ready = subject.fetch("/ready").await.expect(200).json();
        (ready["writes"] == true).then_some(())
    };
    eventually("/ready accepts writes", DEADLINE, accepts).await;
    subject.read().await;
    let log = subject.process().log();
    let errors = log.iter().filter(|line| line.contains(r#""level":"ERROR""#));
    let errors: Vec<_> = errors.collect();
    assert!(
        errors.len() == 1 && errors[0].contains("the disk is full: writes are refused"),
        "{mebibytes} MiB: {errors:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_volume_accepts_objects_when_a_mebibyte_is_freed() {
    for mebibytes in VOLUMES {
        is_usable_when_a_mebibyte_is_freed::<Objects>(mebibytes).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_volume_accepts_payments_when_a_mebibyte_is_freed() {
    for mebibytes in VOLUMES {
        is_usable_when_a_mebibyte_is_freed::<Payments>(mebibytes).await;
    }
}
