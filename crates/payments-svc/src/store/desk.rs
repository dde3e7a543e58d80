//! Reads for the desk: users, their sessions and their merchants.

use common::sql::{Group as _, Param, Stored as _};
use payments_domain::{
    App, Email, Id, MAX_PAGE_SIZE, MailKind, Merchant, PageQuery, TokenDigest, Transaction, User,
    write::{LogRow, NoticeRow, SessionRow},
};

use super::{
    Engine, Store, StoreError,
    lists::{padded, placeholders},
    reads::LIMIT,
    rows::{self, Resource as _},
};

/// A condition: the user of a row is a member of a merchant, and has accepted the invitation.
const IS_MEMBER: &str = "EXISTS (SELECT 1 FROM merchant_users
     WHERE merchant_users.\"user\" = users.id AND accepted IS NOT NULL)";

/// A column: whether the user is a member of every merchant of an app, which has created one of
/// them. Otherwise, anybody could add an app without merchants to theirs, and take a key of it.
pub(super) fn manages(user: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM merchant_apps AS every
             WHERE every.app = apps.id AND NOT EXISTS (SELECT 1 FROM merchant_users
                 WHERE merchant_users.merchant = every.merchant
                     AND merchant_users.\"user\" = {user} AND accepted IS NOT NULL))
         AND EXISTS (SELECT 1 FROM merchant_apps AS own WHERE own.app = apps.id AND own.creator)"
    )
}

/// SQL of the members who want to be told of a notice: its kind, its merchant or app, and the maximum
/// number. Of an app, only those who see its webhooks, each once: they are members of each of its
/// merchants.
fn members_sql(is_of_app: bool) -> String {
    if !is_of_app {
        return "SELECT \"user\", merchant FROM mail_choices
                WHERE kind = $1 AND merchant = $2 LIMIT $3"
            .to_owned();
    }
    format!(
        "SELECT \"user\", merchant FROM (
             SELECT members.\"user\", (
                 SELECT chosen.merchant FROM merchant_apps AS theirs
                     JOIN mail_choices AS chosen ON chosen.merchant = theirs.merchant
                 WHERE kind = $1 AND theirs.app = $2 AND chosen.\"user\" = members.\"user\"
                 ORDER BY theirs.merchant LIMIT 1
             ) AS merchant
             FROM apps JOIN merchant_users AS members ON members.merchant = (
                 SELECT merchant FROM merchant_apps WHERE app = $2 ORDER BY merchant LIMIT 1
             )
             WHERE apps.id = $2 AND {}
         ) AS told
         WHERE merchant IS NOT NULL LIMIT $3",
        manages("members.\"user\"")
    )
}

/// What somebody has done, with names.
pub(crate) struct LogEntry {
    pub(crate) row: LogRow,
    /// The name of the app, or the e-mail address of the user. `None` for a key or webhook, or if the
    /// app has no name.
    pub(crate) subject: Option<String>,
    pub(crate) actor_name: Option<String>,
}

/// SQL of a page of the log: the owners, the ID before which it begins, and the maximum number.
fn log_sql(owners: usize) -> String {
    format!(
        "SELECT {}, {}, {} FROM log WHERE owner IN ({}) AND id < ${}
         ORDER BY id DESC LIMIT ${}",
        LogRow::of("log"),
        rows::name_of("log.subject"),
        rows::actor_name("log"),
        placeholders(owners),
        owners + 1,
        owners + 2
    )
}

/// The maximum number of merchants or apps that the desk lists.
const MOST: Param<'static> = Param::Int(MAX_PAGE_SIZE as i64);

impl Store {
    /// The user with this address. `accepted`: only one who has accepted an invitation.
    pub(crate) async fn user_by_email(
        &self,
        email: &Email,
        accepted: bool,
    ) -> Result<Option<User>, StoreError> {
        let address = match &self.engine {
            Engine::Sqlite(_) => "email",
            Engine::Postgres(_) => "lower(email COLLATE \"C\")",
        };
        let condition = if accepted { IS_MEMBER } else { "TRUE" };
        let sql =
            format!("SELECT {} FROM users WHERE {address} = $1 AND {condition}", User::of("users"));
        let address = email.as_str().to_ascii_lowercase();
        self.query_one(&sql, &[address.param()], User::read).await
    }

    /// A session with its user, if the user is a member of a merchant, and whether the user has an
    /// authenticator that works.
    pub(crate) async fn session(
        &self,
        digest: TokenDigest,
    ) -> Result<Option<(SessionRow, User, bool)>, StoreError> {
        let sql = format!(
            "SELECT {}, {}, EXISTS (
                 SELECT 1 FROM authenticators WHERE authenticators.\"user\" = users.id AND works
             )
             FROM sessions JOIN users ON users.id = sessions.\"user\"
             WHERE digest = $1 AND {IS_MEMBER}",
            SessionRow::of("sessions"),
            User::of("users")
        );
        self.query_one(&sql, &[digest.param()], |columns| {
            Ok((SessionRow::read(columns)?, User::read(columns)?, columns.read()?))
        })
        .await
    }

    /// All sessions of a user, newest first.
    pub(crate) async fn sessions_of_user(&self, user: Id) -> Result<Vec<SessionRow>, StoreError> {
        let columns = SessionRow::of("sessions");
        let sql = format!(
            "SELECT {columns} FROM sessions WHERE \"user\" = $1 ORDER BY created DESC, digest"
        );
        self.query_all(&sql, &[user.param()], SessionRow::read).await
    }

    /// The number of recovery codes that a user can still use.
    pub(crate) async fn recovery_codes_of_user(&self, user: Id) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM recovery_codes WHERE \"user\" = $1";
        let count = self.query_one(sql, &[user.param()], |columns| columns.read()).await?;
        Ok(count.unwrap_or(0))
    }

    /// The merchants whose invitations the user has accepted, newest first.
    pub(crate) async fn merchants_of_user(&self, user: Id) -> Result<Vec<Merchant>, StoreError> {
        let (columns, _) = Merchant::select();
        let sql = format!(
            "SELECT {columns}
             FROM merchant_users JOIN merchants ON merchants.id = merchant_users.merchant
             WHERE merchant_users.\"user\" = $1 AND accepted IS NOT NULL
             ORDER BY merchant_users.merchant DESC LIMIT $2"
        );
        self.query_all(&sql, &[user.param(), MOST], Merchant::of_row).await
    }

    /// A merchant, if the user has accepted its invitation.
    pub(crate) async fn merchant_of_user(
        &self,
        user: Id,
        merchant: Id,
    ) -> Result<Option<Merchant>, StoreError> {
        let (columns, _) = Merchant::select();
        let sql = format!(
            "SELECT {columns}
             FROM merchant_users JOIN merchants ON merchants.id = merchant_users.merchant
             WHERE merchant_users.\"user\" = $1 AND merchant_users.merchant = $2
                 AND accepted IS NOT NULL"
        );
        self.query_one(&sql, &[user.param(), merchant.param()], Merchant::of_row).await
    }

    /// The apps of a merchant from this ID on and before the second, newest first. Each with whether
    /// the user is a member of all merchants of the app.
    pub(crate) async fn apps_of_user(
        self,
        (user, merchant): (Id, Id),
        [from, before]: [Id; 2],
        limit: u32,
    ) -> Result<Vec<(App, bool)>, StoreError> {
        let sql = format!(
            "SELECT {}, {} FROM merchant_apps JOIN apps ON apps.id = merchant_apps.app
             WHERE merchant_apps.merchant = $2 AND merchant_apps.app >= $3
                 AND merchant_apps.app < $4
             ORDER BY merchant_apps.app DESC LIMIT $5",
            App::of("apps"),
            manages("$1")
        );
        let limit = Param::Int(limit.into());
        let params = [user.param(), merchant.param(), from.param(), before.param(), limit];
        self.query_all(&sql, &params, |columns| Ok((App::read(columns)?, columns.read()?))).await
    }

    /// A page of the log of merchants and apps, newest first.
    pub(crate) async fn log(
        self,
        owners: Vec<Id>,
        page_query: PageQuery,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let before = page_query.before.unwrap_or(Id::MAX);
        let mut params = padded(&owners);
        let sql = log_sql(params.len());
        params.extend([before.param(), Param::Int(page_query.limit.into())]);
        self.query_all(&sql, &params, |columns| {
            let (row, subject) = (LogRow::read(columns)?, columns.read()?);
            Ok(LogEntry { row, subject, actor_name: columns.read()? })
        })
        .await
    }

    /// A transaction of this merchant.
    pub(crate) async fn transaction_of_merchant(
        &self,
        merchant: Id,
        id: Id,
    ) -> Result<Option<Transaction>, StoreError> {
        let found = self.transactions_by_id(&[id]).await?.remove(&id);
        Ok(found.filter(|transaction| transaction.merchant == merchant))
    }

    /// The merchants whose invitations the user has not accepted.
    pub(crate) async fn invited_to(&self, user: Id) -> Result<Vec<Id>, StoreError> {
        let sql = "SELECT merchant FROM merchant_users
                   WHERE \"user\" = $1 AND accepted IS NULL LIMIT $2";
        self.query_all(sql, &[user.param(), MOST], |columns| columns.read()).await
    }

    /// The kinds of mails that a member gets.
    pub(crate) async fn chosen_mails(
        &self,
        merchant: Id,
        user: Id,
    ) -> Result<Vec<MailKind>, StoreError> {
        let sql = "SELECT kind FROM mail_choices WHERE merchant = $1 AND \"user\" = $2";
        self.query_all(sql, &[merchant.param(), user.param()], |columns| columns.read()).await
    }

    /// Facts of which members are to be told, the oldest first.
    pub(crate) async fn notices(&self) -> Result<Vec<NoticeRow>, StoreError> {
        let notice = NoticeRow::of("notices");
        let sql = format!("SELECT {notice} FROM notices ORDER BY id LIMIT $1");
        self.query_all(&sql, &[LIMIT], NoticeRow::read).await
    }

    /// The members who want to be told, each with a merchant.
    pub(crate) async fn members_to_tell(
        &self,
        notice: &NoticeRow,
    ) -> Result<Vec<(Id, Id)>, StoreError> {
        let NoticeRow { kind, merchant, app, .. } = notice;
        let (sql, of) = (members_sql(app.is_some()), app.or(*merchant));
        let params = [kind.param(), of.param(), MOST];
        self.query_all(&sql, &params, |columns| Ok((columns.read()?, columns.read()?))).await
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::sqlite::tests::{database, plan},
        *,
    };

    #[test]
    fn an_index_finds_the_merchants_of_a_user() {
        let sql = "SELECT merchant FROM merchant_users WHERE \"user\" = $1 ORDER BY merchant DESC";
        let searched = ["SEARCH merchant_users USING COVERING INDEX merchants_of_users (user=?)"];
        assert_eq!(plan(&database(), sql), searched);
        let sql = format!("SELECT id FROM users WHERE email = $1 AND {IS_MEMBER}");
        let managed = format!("SELECT {} FROM apps WHERE id = $2", manages("$1"));
        for sql in [sql, managed, members_sql(false), members_sql(true)] {
            let plan = plan(&database(), &sql);
            assert!(plan.iter().all(|step| !step.starts_with("SCAN ")), "{plan:?}");
        }
    }
}
