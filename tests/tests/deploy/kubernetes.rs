//! The Kubernetes files agree with the programs, with Compose and with each other. `make check`
//! compares them with the schema of Kubernetes.

use std::collections::BTreeSet;

use blackbox::{
    process::{self, Process},
    project::read,
    settings,
};
use serde::Deserialize as _;
use serde_norway::Value;

use crate::texts;

/// The files that are applied together: a service, then its files without their ending.
const SETS: [(&str, &[&str]); 5] = [
    ("authsvc", &["authsvc", "ingress"]),
    ("objstore-svc", &["objstore-svc", "sqlite", "ingress"]),
    ("objstore-svc", &["objstore-svc", "postgres", "ingress"]),
    ("payments-svc", &["payments-svc", "sqlite", "egress", "ingress"]),
    ("payments-svc", &["payments-svc", "postgres", "egress", "ingress"]),
];

/// The connections that a replica opens besides its pool. Tests of both services measure them:
/// `a_replica_opens_a_fixed_number_of_connections_besides_its_pool`.
const BESIDES_THE_POOL: [(&str, u64); 2] = [("objstore-svc", 3), ("payments-svc", 5)];

/// The default of `max_connections`, without those that PostgreSQL reserves for superusers.
const FOR_ORDINARY_ROLES: u64 = 100 - 3;

/// Kubernetes manifests that are applied together.
struct Set {
    service: &'static str,
    manifests: Vec<Value>,
}

impl Set {
    fn all() -> impl Iterator<Item = Self> {
        SETS.into_iter().map(|(service, files)| {
            let texts =
                files.iter().map(|file| read(&format!("deploy/{service}/kubernetes/{file}.yaml")));
            let manifests = texts.flat_map(|text| {
                let documents = serde_norway::Deserializer::from_str(&text);
                documents.map(|text| Value::deserialize(text).unwrap()).collect::<Vec<_>>()
            });
            Self { service, manifests: manifests.collect() }
        })
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.manifests.iter().filter(move |manifest| manifest["kind"] == kind)
    }

    /// The only manifest of this kind.
    fn the(&self, kind: &str) -> &Value {
        let mut found = self.of_kind(kind);
        let first = found.next().unwrap_or_else(|| panic!("{}: no {kind}", self.service));
        assert!(found.next().is_none(), "{}: several {kind}", self.service);
        first
    }

    fn is_sqlite(&self) -> bool {
        self.of_kind("StatefulSet").next().is_some()
    }

    fn is_postgres(&self) -> bool {
        self.service != "authsvc" && !self.is_sqlite()
    }

    /// The Deployment or StatefulSet.
    fn workload(&self) -> &Value {
        self.the(if self.is_sqlite() { "StatefulSet" } else { "Deployment" })
    }

    /// The pod of the service.
    fn server(&self) -> &Value {
        &self.workload()["spec"]["template"]
    }

    /// The pods of the jobs.
    fn jobs(&self) -> impl Iterator<Item = &Value> {
        self.of_kind("CronJob").map(|job| &job["spec"]["jobTemplate"]["spec"]["template"])
    }

    fn pods(&self) -> impl Iterator<Item = &Value> {
        self.jobs().chain([self.server()])
    }

    /// The value of a setting: that of the ConfigMap, or the default.
    async fn setting(&self, name: &str) -> String {
        match self.the("ConfigMap")["data"][name].as_str() {
            Some(value) => value.to_owned(),
            None => settings::of(self.service).await[name].default.clone(),
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_sequence().into_iter().flatten()
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    list(&pod["spec"]["initContainers"]).chain(list(&pod["spec"]["containers"]))
}

/// Whether a selector finds a pod with these labels.
fn selects(selector: &Value, pod: &Value) -> bool {
    let labels = &pod["metadata"]["labels"];
    selector.as_mapping().unwrap().iter().all(|(name, value)| labels[name] == *value)
}

/// A duration in seconds, such as `10s`.
fn seconds(text: &str) -> u64 {
    text.strip_suffix('s').unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_files_hold_every_secret_and_what_differs_from_the_defaults() {
    for set in Set::all() {
        let known = settings::of(set.service).await;
        for (name, value) in texts(&set.the("ConfigMap")["data"]) {
            let setting = &known[&name];
            assert!(setting.flag.is_some(), "{name} is a secret");
            assert!(value.is_empty() || value != setting.default, "{name} has its default value");
        }
        let mut secrets = BTreeSet::new();
        for variable in list(&set.server()["spec"]["containers"][0]["env"]) {
            let name = variable["name"].as_str().unwrap();
            assert_eq!(variable["valueFrom"]["secretKeyRef"]["name"], set.service);
            assert!(secrets.insert(name), "{name} is shown twice");
        }
        let is_needed = |name: &str| !set.is_sqlite() || !name.ends_with("_DATABASE_URL");
        let expected = known.values().filter(|setting| setting.flag.is_none());
        let expected = expected.map(|setting| &*setting.name).filter(|name| is_needed(name));
        assert_eq!(secrets, expected.collect(), "{}", set.service);
    }
}

#[tokio::test]
async fn the_programs_start_with_the_values_of_the_files() {
    for set in Set::all().filter(|set| !set.is_postgres()) {
        let data = tempfile::tempdir().unwrap();
        let mut settings = texts(&set.the("ConfigMap")["data"]);
        for (name, value) in &mut settings {
            match &**name {
                "HOST" => "127.0.0.1".clone_into(value),
                name if name.ends_with("_DATA_DIR") => {
                    data.path().to_str().unwrap().clone_into(value);
                }
                _ => {}
            }
        }
        settings.extend(["PORT", "PAYMENTS_POS_PORT"].map(|name| (name.into(), "0".into())));
        let settings: Vec<_> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        let process = Process::start(process::command(set.service, &settings)).await;
        process.terminate().await;
        process.ended().await;
    }
}

#[tokio::test]
async fn names_and_ports_agree() {
    for set in Set::all() {
        let (server, service) = (set.server(), set.the("Service"));
        let ports = &server["spec"]["containers"][0]["ports"];
        let has_port = |name: &Value| list(ports).any(|port| port["name"] == *name);
        for port in list(ports) {
            let setting = if port["name"] == "pos" { "PAYMENTS_POS_PORT" } else { "PORT" };
            assert_eq!(
                port["containerPort"].as_u64().unwrap().to_string(),
                set.setting(setting).await
            );
        }
        let scraped = &server["metadata"]["annotations"]["prometheus.io/port"];
        assert_eq!(*scraped, set.setting("PORT").await);

        let selector = &service["spec"]["selector"];
        assert!(selects(selector, server) && !set.jobs().any(|job| selects(selector, job)));
        assert_eq!(set.workload()["spec"]["selector"]["matchLabels"], *selector);
        assert!(list(&service["spec"]["ports"]).all(|port| has_port(&port["targetPort"])));
        for budget in set.of_kind("PodDisruptionBudget") {
            assert_eq!(budget["spec"]["selector"]["matchLabels"], *selector);
        }
        for spread in list(&server["spec"]["topologySpreadConstraints"]) {
            assert_eq!(spread["labelSelector"]["matchLabels"], *selector);
        }
        for scaler in set.of_kind("HorizontalPodAutoscaler") {
            assert_eq!(scaler["spec"]["scaleTargetRef"]["kind"], set.workload()["kind"]);
            assert_eq!(
                scaler["spec"]["scaleTargetRef"]["name"],
                set.workload()["metadata"]["name"]
            );
        }
        for policy in set.of_kind("NetworkPolicy") {
            let selector = &policy["spec"]["podSelector"]["matchLabels"];
            assert!(set.pods().any(|pod| selects(selector, pod)));
            let ports = list(&policy["spec"]["ingress"]).flat_map(|rule| list(&rule["ports"]));
            assert!(ports.into_iter().all(|port| has_port(&port["port"])));
        }
        let ingress = &set.the("Ingress")["spec"];
        for (rule, tls) in list(&ingress["rules"]).zip(list(&ingress["tls"])) {
            assert_eq!(tls["hosts"][0], rule["host"]);
            let target = &rule["http"]["paths"][0]["backend"]["service"];
            assert_eq!(target["name"], service["metadata"]["name"]);
            let mut ports = list(&service["spec"]["ports"]);
            assert!(ports.any(|port| port["name"] == target["port"]["name"]));
        }
    }
}

#[test]
fn every_volume_exists() {
    for set in Set::all() {
        let mut claims: Vec<Value> = set
            .of_kind("PersistentVolumeClaim")
            .map(|claim| claim["metadata"]["name"].clone())
            .collect();
        let templates = &set.workload()["spec"]["volumeClaimTemplates"];
        let templates: Vec<_> =
            list(templates).map(|template| template["metadata"]["name"].clone()).collect();
        // The name that Kubernetes gives the claim of the first pod.
        claims.extend(
            templates
                .iter()
                .map(|name| Value::from(format!("{}-{}-0", name.as_str().unwrap(), set.service))),
        );
        for pod in set.pods() {
            let volumes = list(&pod["spec"]["volumes"]);
            let mut names: Vec<_> = volumes.map(|volume| volume["name"].clone()).collect();
            names.extend(templates.iter().filter(|_| pod == set.server()).cloned());
            let mounts = containers(pod).flat_map(|container| list(&container["volumeMounts"]));
            for mount in mounts {
                assert!(names.contains(&mount["name"]), "{}: {mount:?}", set.service);
            }
            for volume in list(&pod["spec"]["volumes"]) {
                let claim = &volume["persistentVolumeClaim"]["claimName"];
                assert!(claim.is_null() || claims.contains(claim), "{}: {claim:?}", set.service);
            }
        }
    }
}

#[test]
fn every_pod_is_restricted_and_fits_its_memory() {
    let mut compose: Value = serde_norway::from_str(&read("docker-compose.yml")).unwrap();
    compose.apply_merge().unwrap();
    for set in Set::all() {
        let container = &compose["services"][set.service];
        let memory = container["mem_limit"].as_str().unwrap().to_uppercase() + "i";
        let image = format!("{}:latest", container["image"].as_str().unwrap());
        let server = &set.server()["spec"]["containers"][0];
        assert_eq!(server["resources"]["limits"]["memory"], *memory);
        for pod in set.pods() {
            assert_eq!(pod["spec"]["automountServiceAccountToken"], false);
            let security = &pod["spec"]["securityContext"];
            assert_eq!(security["runAsNonRoot"], true);
            assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault");
            // The user of deploy/Dockerfile, who owns the files on the volumes.
            assert_eq!(security["runAsUser"], 65532);
            for container in containers(pod) {
                let security = &container["securityContext"];
                assert_eq!(security["allowPrivilegeEscalation"], false);
                assert_eq!(security["readOnlyRootFilesystem"], true);
                assert_eq!(security["capabilities"]["drop"][0], "ALL");
                assert!(container["resources"]["limits"]["memory"].is_string());
                if container["envFrom"].is_sequence() {
                    assert_eq!(container["image"], *image);
                    assert_eq!(container["envFrom"][0]["configMapRef"]["name"], set.service);
                }
            }
        }
    }
}

#[tokio::test]
async fn probes_ask_existing_paths_and_a_stop_has_enough_time() {
    for set in Set::all() {
        let document = read(&format!("crates/{}/assets/openapi.yaml", set.service));
        let document: Value = serde_norway::from_str(&document).unwrap();
        let spec = &set.server()["spec"];
        let server = &spec["containers"][0];
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            let asked = &server[probe]["httpGet"];
            let described = &document["paths"][asked["path"].as_str().unwrap()];
            assert!(described["get"].is_mapping(), "{}: {probe}", set.service);
            assert_eq!(asked["port"], "http");
        }
        let pause = server["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
        let grace = spec["terminationGracePeriodSeconds"].as_u64().unwrap();
        let drain = seconds(&set.setting("DRAIN_TIMEOUT").await);
        assert!(grace > pause + drain, "{}", set.service);
    }
}

#[tokio::test]
async fn jobs_use_existing_subcommands_and_options() {
    let mut seen = BTreeSet::new();
    for set in Set::all() {
        let containers = set.jobs().flat_map(containers);
        for container in containers.filter(|container| container["args"].is_sequence()) {
            let arguments: Vec<_> =
                list(&container["args"]).map(|text| text.as_str().unwrap()).collect();
            let help = settings::help(set.service, &arguments[..1]).await;
            for option in arguments.iter().filter(|text| text.starts_with("--")) {
                assert!(help.contains(&format!("{option} ")), "{}: {option}", set.service);
            }
            seen.insert((set.service, set.is_sqlite(), arguments[0].to_owned()));
        }
    }
    let expected = [
        ("objstore-svc", true, "backup"),
        ("payments-svc", false, "check"),
        ("payments-svc", false, "payout"),
        ("payments-svc", true, "backup"),
        ("payments-svc", true, "check"),
        ("payments-svc", true, "payout"),
    ];
    assert_eq!(seen, expected.map(|(service, engine, job)| (service, engine, job.into())).into());
}

/// The files of the two engines repeat the description of the pod.
#[test]
fn the_engines_differ_only_in_the_place_of_the_data() {
    for service in ["objstore-svc", "payments-svc"] {
        let pods = Set::all().filter(|set| set.service == service).map(|set| {
            let mut pod = set.server().clone();
            for own in ["fsGroup", "fsGroupChangePolicy"] {
                pod["spec"]["securityContext"].as_mapping_mut().unwrap().remove(own);
            }
            pod["spec"].as_mapping_mut().unwrap().remove("topologySpreadConstraints");
            let container = &mut pod["spec"]["containers"][0];
            let is_url = |variable: &Value| {
                let name = variable["name"].as_str().unwrap();
                name.ends_with("_DATABASE_URL")
            };
            container["env"].as_sequence_mut().unwrap().retain(|variable| !is_url(variable));
            let mounts = container["volumeMounts"].as_sequence_mut().unwrap();
            mounts.retain(|mount| mount["name"] != "data");
            pod
        });
        let [sqlite, postgres] = pods.collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(sqlite, postgres, "{service}");
    }
}

/// During an upgrade, a Deployment has one new replica more, and one old replica is stopping.
#[test]
fn both_services_together_fit_the_connections_of_one_postgresql() {
    let mut sum = 0;
    for set in Set::all().filter(Set::is_postgres) {
        let spec = &set.workload()["spec"];
        let scaler = set.of_kind("HorizontalPodAutoscaler").next();
        let most = scaler.map_or(&spec["replicas"], |scaler| &scaler["spec"]["maxReplicas"]);
        let surge = spec["strategy"]["rollingUpdate"]["maxSurge"].as_u64().unwrap();
        let grace = &set.server()["spec"]["terminationGracePeriodSeconds"];
        assert!(spec["minReadySeconds"].as_u64() >= grace.as_u64(), "two replicas may be stopping");
        let pool = ["OBJSTORE_DATABASE_CONNECTIONS", "PAYMENTS_DATABASE_CONNECTIONS"]
            .into_iter()
            .find_map(|name| set.the("ConfigMap")["data"][name].as_str());
        let pool: u64 = pool.unwrap().parse().unwrap();
        let (_, besides) =
            BESIDES_THE_POOL.into_iter().find(|(service, _)| *service == set.service).unwrap();
        let jobs = u64::try_from(set.jobs().count()).unwrap();
        sum += (most.as_u64().unwrap() + surge + 1) * (pool + besides) + jobs;
    }
    assert!(sum > 0 && sum < FOR_ORDINARY_ROLES, "{sum}");
}
