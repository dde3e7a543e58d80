//! Incidents of authsvc and the portal.

use std::time::Duration;

use blackbox::authsvc::{Credentials, Site};
use demo_portal::{Behaviour, Delivery, Operation, Tls};
use futures_util::{StreamExt as _, stream};

use crate::timeline::{Fires, Target, Timeline};

/// Sign-ins that run at once.
const AT_ONCE: usize = 40;

/// Minutes without an incident before and after it.
const HEALTHY: u32 = 10;

/// The sign-ins of 15 seconds without an incident.
const HEALTH: &[(u32, SignIn)] = &[(4, Good)];

/// What becomes of a sign-in.
#[derive(Clone, Copy)]
enum SignIn {
    Good,
    /// With a profile.
    Profile,
    WrongPassword,
    /// The service refuses it.
    Invalid,
    /// The portal resets the connection.
    NoAnswer,
    /// The portal does not answer within `PORTAL_TIMEOUT`.
    TimesOut,
    /// The certificate of the portal has expired.
    Expired,
    /// The portal takes six seconds.
    Slow,
    /// The portal answers with a page.
    Page(u16),
    /// A firewall answers 401 with a page.
    Firewall,
    /// The portal answers with a redirect.
    Moved,
    /// The portal resets the connection for the profile.
    NoProfile,
    /// A member of the profile has another name.
    Renamed,
    /// The campus of the profile is new.
    NewCampus,
}

use SignIn::{
    Expired, Firewall, Good, Invalid, Moved, NewCampus, NoAnswer, NoProfile, Page, Profile,
    Renamed, Slow, TimesOut, WrongPassword,
};

struct Incident {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// The sign-ins of 15 seconds: how many of each.
    sign_ins: &'static [(u32, SignIn)],
    /// 0: they are sent once.
    minutes: u32,
    /// A second replica has no incident.
    is_one_of_two: bool,
    fires: &'static [Fires],
}

const OF_THE_SERVICE: &[(&str, &str)] = &[("job", "authsvc")];
const OF_THE_LOGIN: &[(&str, &str)] = &[("job", "authsvc"), ("operation", "login")];
const OF_OVERLOAD: &[(&str, &str)] =
    &[("job", "authsvc"), ("instance", "a:5000"), ("type", "OverloadError")];
const OF_MISSING: &[(&str, &str)] = &[("job", "authsvc"), ("reason", "missing_field")];

/// `SignInsFail`, with the share of the sign-ins that fail, and what the calls to the portal get.
macro_rules! sign_ins_fail {
    ($severity:ident, $after:literal, $share:literal, $calls:literal) => {
        Fires::$severity(
            "SignInsFail",
            $after,
            OF_THE_SERVICE,
            concat!(
                "authsvc: ",
                $share,
                " of the sign-ins get 502, most of them at a:5000. Calls to the portal: ",
                $calls,
                ", and `cause` in the log says why"
            ),
        )
    };
}

/// Without settings.
const fn incident(
    name: &'static str,
    minutes: u32,
    sign_ins: &'static [(u32, SignIn)],
    fires: &'static [Fires],
) -> Incident {
    Incident { name, settings: &[], sign_ins, minutes, is_one_of_two: false, fires }
}

const INCIDENTS: &[Incident] = &[
    incident("nothing", 60, &[(8, Good), (1, WrongPassword), (1, Invalid)], &[]),
    incident("no sign-ins", 60, &[], &[]),
    incident("one odd answer", 0, &[(19, Good), (1, Page(200))], &[]),
    incident("three profiles missing", 0, &[(7, Good), (3, NoProfile)], &[]),
    incident("4 % fail", 60, &[(24, Good), (1, NoAnswer)], &[]),
    incident(
        "the portal is gone",
        15,
        &[(8, NoAnswer)],
        &[sign_ins_fail!(critical, 210, "85.71%", "85.71% get no answer, 14.29% get 200")],
    ),
    incident(
        "45 % gone",
        60,
        &[(11, Good), (9, NoAnswer)],
        &[sign_ins_fail!(warning, 315, "45%", "55% get 200, 45% get no answer")],
    ),
    incident(
        "40 % gone, 35 % odd",
        60,
        &[(5, Good), (8, NoAnswer), (7, Page(200))],
        &[sign_ins_fail!(critical, 195, "69.08%", "63.16% get 200, 36.84% get no answer")],
    ),
    incident(
        "few callers",
        15,
        &[(1, NoAnswer)],
        &[sign_ins_fail!(critical, 360, "100%", "100% get no answer")],
    ),
    incident(
        "a maintenance page",
        15,
        &[(8, Page(200))],
        &[sign_ins_fail!(critical, 210, "85.71%", "100% get 200")],
    ),
    incident(
        "unavailable",
        15,
        &[(8, Page(503))],
        &[sign_ins_fail!(critical, 210, "85.71%", "85.71% get 503, 14.29% get 200")],
    ),
    incident(
        "moved",
        15,
        &[(8, Moved)],
        &[sign_ins_fail!(critical, 210, "85.71%", "85.71% get 302, 14.29% get 200")],
    ),
    incident(
        "an expired certificate",
        15,
        &[(8, Expired)],
        &[sign_ins_fail!(critical, 210, "85.71%", "85.71% get no answer, 14.29% get 200")],
    ),
    incident(
        "no profiles",
        15,
        &[(4, Good), (4, NoProfile)],
        &[sign_ins_fail!(warning, 315, "50%", "66.67% get 200, 33.33% get no answer")],
    ),
    incident(
        "a firewall",
        15,
        &[(8, Firewall)],
        &[Fires::warning(
            "SignInsRejected",
            540,
            OF_THE_SERVICE,
            r#"authsvc: the portal rejects 100% of the sign-ins: somebody guesses passwords, or a firewall answers for the portal ("a 401 differs from the portal's" in the log)"#,
        )],
    ),
    incident(
        "guessed passwords",
        15,
        &[(1, Good), (15, WrongPassword)],
        &[Fires::warning(
            "SignInsRejected",
            555,
            OF_THE_SERVICE,
            r#"authsvc: the portal rejects 93.75% of the sign-ins: somebody guesses passwords, or a firewall answers for the portal ("a 401 differs from the portal's" in the log)"#,
        )],
    ),
    incident(
        "a slow portal",
        20,
        &[(4, Slow)],
        &[Fires::warning(
            "PortalSlow",
            840,
            OF_THE_LOGIN,
            "authsvc: the portal takes 6 s on average for a login",
        )],
    ),
    incident("one of ten is slow", 20, &[(9, Good), (1, Slow)], &[]),
    incident(
        "a renamed member",
        20,
        &[(4, Good), (4, Renamed)],
        &[Fires::warning(
            "ProfileParseErrors",
            915,
            OF_MISSING,
            r#"authsvc: members of the profile cannot be read (missing_field, 1 for each profile). The log names them: search it for "differs from the known ones""#,
        )],
    ),
    incident("a new campus", 20, &[(4, NewCampus), (4, Profile)], &[]),
    Incident {
        settings: &[("PORTAL_TIMEOUT", "1s")],
        ..incident(
            "time-outs",
            15,
            &[(8, TimesOut)],
            &[sign_ins_fail!(critical, 210, "85.71%", "85.71% get no answer, 14.29% get 200")],
        )
    },
    Incident {
        is_one_of_two: true,
        ..incident(
            "one of two replicas",
            30,
            &[(4, NoAnswer)],
            &[sign_ins_fail!(warning, 330, "50%", "50% get 200, 50% get no answer")],
        )
    },
    Incident {
        settings: &[("MAX_SIGN_INS", "4")],
        ..incident(
            "more sign-ins than the limit",
            20,
            &[(8, Slow)],
            &[
                Fires::warning(
                    "SignInsRefused",
                    75,
                    OF_OVERLOAD,
                    "authsvc: a:5000 refused 24 sign-ins in 5 minutes (OverloadError)",
                ),
                Fires::warning(
                    "PortalSlow",
                    840,
                    OF_THE_LOGIN,
                    "authsvc: the portal takes 6 s on average for a login",
                ),
            ],
        )
    },
];

impl Incident {
    /// Returns what differs from the expected alerts.
    async fn play(&self) -> Option<String> {
        let replicas = if self.is_one_of_two { 2 } else { 1 };
        let mut sites = Vec::new();
        for _ in 0..replicas {
            sites.push(Site::with(self.settings).await);
        }
        let targets = ["a:5000", "b:5000"].into_iter().zip(&sites).map(|(instance, site)| {
            let url = Some(site.url().to_owned());
            Target { job: "authsvc", instance, url }
        });
        let mut timeline = Timeline::of(targets);
        let sent = async |to_first| {
            for (number, site) in sites.iter().enumerate() {
                send(site, if number == 0 { to_first } else { HEALTH }).await;
            }
        };
        timeline.pass(HEALTHY, async || sent(HEALTH).await).await;
        let begin = timeline.next();
        timeline.pass(self.minutes, async || sent(self.sign_ins).await).await;
        timeline.pass(HEALTHY, async || sent(HEALTH).await).await;
        timeline.differs(self.name, begin, self.fires).await
    }
}

async fn send(site: &Site, sign_ins: &[(u32, SignIn)]) {
    let all = sign_ins.iter().flat_map(|&(count, sign_in)| (0..count).map(move |_| sign_in));
    stream::iter(all).for_each_concurrent(AT_ONCE, async |sign_in| sign_in.send(site).await).await;
}

impl SignIn {
    async fn send(self, site: &Site) {
        let known = site.student_with(|student| match self {
            Renamed => student.without("Email").info("Mail", "a@b.example"),
            NewCampus => student.info("CampusCode", "999"),
            _ => student,
        });
        let script = |operation, behaviour: Behaviour| {
            site.portal.script(&known.username, operation, behaviour);
        };
        let page = |status| {
            Behaviour::answer(status, "<h1>Maintenance</h1>").header("content-type", "text/html")
        };
        match self {
            Good => site.portal.script_tls(Tls::Valid),
            Profile | WrongPassword | Invalid | Renamed | NewCampus => {}
            NoAnswer => script(Operation::Login, Delivery::ResetBefore.into()),
            TimesOut => script(Operation::Login, Delivery::Hang.into()),
            Expired => site.portal.script_tls(Tls::Expired),
            Slow => script(Operation::Login, Behaviour::honest().after(Duration::from_secs(6))),
            Page(status) => script(Operation::Login, page(status)),
            Firewall => script(Operation::Login, page(401)),
            Moved => script(Operation::Login, Behaviour::redirect(Operation::Login)),
            NoProfile => script(Operation::Profile, Delivery::ResetBefore.into()),
        }
        let _ = match self {
            Profile | Renamed | NewCampus | NoProfile => site.profile(&known).await,
            WrongPassword => {
                site.sign_in(&Credentials { password: "wrong".to_owned(), ..known }).await
            }
            Invalid => site.authenticate("{}").await,
            _ => site.sign_in(&known).await,
        };
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incidents_of_the_portal_fire_these_alerts() {
    let played = stream::iter(INCIDENTS).map(Incident::play).buffer_unordered(4);
    let wrong: Vec<String> = played.filter_map(async |differs| differs).collect().await;
    assert!(wrong.is_empty(), "{}", wrong.concat());
}
