//! The last member of a merchant, and invitations that are renewed.

use super::*;
use crate::{
    Email, LinkKind, Token,
    actions::{AddUser, CreateSignInLink, RenewInvitation, RevokeUser, SignIn},
};

/// A merchant whose first users have accepted their invitations.
fn members(accepted: usize, invited: usize) -> (BatchTester, Id, Vec<Id>) {
    let mut run = BatchTester::new();
    let merchant = *run.tables.merchants.keys().next().unwrap();
    for number in 0..accepted + invited {
        let email = Email::new(&format!("user{number}@shop.example")).unwrap();
        run.execute(AddUser { merchant, email, mail: true }).unwrap();
    }
    let users = run.tables.users.values().filter(|user| user.email.as_str().starts_with("user"));
    let users: Vec<Id> = users.map(|user| user.id).collect();
    for &user in &users[..accepted] {
        accept(&mut run, merchant, user).unwrap();
    }
    (run, merchant, users)
}

fn accept(run: &mut BatchTester, merchant: Id, user: Id) -> WriteResult {
    let [link, browser] = ["link", "browser"].map(|name| Token::sent(name).digest());
    run.execute(CreateSignInLink { user, link }).unwrap();
    let row = run.tables.sign_in_links.get_mut(&link).unwrap();
    (row.kind, row.merchant) = (LinkKind::Invitation, Some(merchant));
    let session = Token::sent(&user.to_string()).digest();
    run.execute(SignIn { user, link, browser, session, accepts: vec![merchant] })
}

#[test]
fn two_users_who_revoke_each_other_leave_one() {
    for (accepted, expected) in [(1, [false, false]), (2, [true, false]), (3, [true, true])] {
        let (mut run, merchant, users) = members(accepted, 1);
        let both = [0, accepted - 1]
            .map(|index| RevokeUser { merchant, user: users[index], keeps_last: true }.into());
        let answers = run.execute_at_once(both.into());
        assert_eq!([answers[0].is_ok(), answers[1].is_ok()], expected, "{answers:?}");
        // Who is only invited is not the last one. The API keeps nobody.
        let keeps_last = true;
        assert!(run.execute(RevokeUser { merchant, user: users[accepted], keeps_last }).is_ok());
        let mut members = run.tables.merchant_users.values();
        let last = members.find(|row| row.accepted.is_some()).map(|row| row.user).unwrap();
        let revoke = |keeps_last| RevokeUser { merchant, user: last, keeps_last };
        assert_eq!(run.execute(revoke(true)), Err(Rejection::LastMember));
        assert!(run.execute(revoke(false)).is_ok());
    }
}

#[test]
fn a_renewed_invitation_has_one_mail_and_no_earlier_link() {
    let (mut run, merchant, users) = members(1, 1);
    let renew = |user| RenewInvitation { merchant, user };
    for user in [users[0], Id::MAX] {
        assert_eq!(run.execute(renew(user)), Err(Rejection::NotFound));
    }
    let link = Token::sent("mailed").digest();
    run.execute(CreateSignInLink { user: users[1], link }).unwrap();
    run.tables.sign_in_links.get_mut(&link).unwrap().merchant = Some(merchant);
    let mails = |run: &BatchTester| {
        let mails = run.tables.mails.values().filter(|row| row.user == Some(users[1]));
        mails.map(|row| row.id).collect::<Vec<_>>()
    };
    let before = mails(&run);
    assert!(
        run.execute_at_once(vec![renew(users[1]).into(), renew(users[1]).into()])
            .iter()
            .all(Result::is_ok)
    );
    assert!(mails(&run).len() == 1 && before != mails(&run));
    assert!(run.tables.sign_in_links.is_empty());
}

#[test]
fn an_accepted_invitation_ends_its_other_links() {
    let (mut run, merchant, users) = members(0, 1);
    let link = Token::sent("mailed before").digest();
    run.execute(CreateSignInLink { user: users[0], link }).unwrap();
    let row = run.tables.sign_in_links.get_mut(&link).unwrap();
    (row.kind, row.merchant) = (LinkKind::Invitation, Some(merchant));
    accept(&mut run, merchant, users[0]).unwrap();
    assert!(run.tables.sign_in_links.is_empty());
}
