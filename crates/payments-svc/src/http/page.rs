//! Lists: which part of one is asked for, and how it is written.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use common::{ErrorBody, error::Cause};
use serde::Serialize;

use super::{
    fields::{self, Fields, Noted},
    members::Encoding,
};
use crate::domain::{Invalid, MAX_PAGE, Window};

/// Reads which part of a list a query asks for, and with `filters` what else the list wants to know
/// of it:
///
/// ```text
/// page::read(query, |fields| fields.object("filter").flag("test"))
/// ```
pub(super) fn read<F>(
    query: Option<&str>,
    filters: impl FnOnce(&mut Fields<'_>) -> Result<F, Noted>,
) -> Result<(Window, F), Vec<Invalid>> {
    fields::read(query.unwrap_or_default().as_bytes(), Encoding::Form, |fields| {
        let limit = fields.required_number("limit", limit);
        // Decision: an empty cursor is an error. Without it a client would start all over.
        let before = fields.given("before", str::parse);
        let after = fields.given("after", str::parse);
        let filters = filters(fields);
        Ok((Window { limit: limit?, before: before?, after: after? }, filters?))
    })
}

fn limit(number: i64) -> Result<u32, String> {
    let limit = u32::try_from(number).ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
    limit.ok_or_else(|| format!("must be from 1 to {MAX_PAGE}"))
}

/// A list as a bare JSON array with each item on a line of its own, since published clients read it
/// line by line.
pub(super) fn list(items: impl IntoIterator<Item = impl Serialize>) -> Response {
    match lines(items) {
        Ok(body) => {
            let json = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, json)], body).into_response()
        }
        Err(error) => {
            let answer = ErrorBody::new("internal", "an internal error occurred");
            let mut response = answer.response(StatusCode::INTERNAL_SERVER_ERROR);
            response.extensions_mut().insert(Cause::new(error));
            response
        }
    }
}

fn lines(items: impl IntoIterator<Item = impl Serialize>) -> serde_json::Result<Vec<u8>> {
    let mut body = b"[".to_vec();
    for (index, item) in items.into_iter().enumerate() {
        body.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut body, &item)?;
    }
    body.extend_from_slice(b"\n]");
    Ok(body)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::Id;

    const LOWER: &str = "5f0c1e2da0b1c2d3e4f50617";
    const UPPER: &str = "5F0C1E2DA0B1C2D3E4F50617";

    /// What the lists of disputes and of transactions want to know, both at once.
    type Filters = (Option<bool>, Id, Option<Id>);

    fn filters(fields: &mut Fields<'_>) -> Result<Filters, Noted> {
        let mut filter = fields.object("filter");
        let successful = filter.flag("successful");
        let merchant = filter.required("merchantId", str::parse);
        let transaction = filter.given("transactionId", str::parse);
        Ok((successful?, merchant?, transaction?))
    }

    fn wrong(query: &str) -> Vec<(String, String)> {
        let errors = read(Some(query), filters).unwrap_err();
        let text = |error: Invalid| (error.field.into_owned(), error.message.into_owned());
        errors.into_iter().map(text).collect()
    }

    #[test]
    fn a_page_has_a_limit_and_cursors() {
        let id: Id = LOWER.parse().unwrap();
        let page = |query: &str| read(Some(query), |_| Ok(())).unwrap().0;
        let all = Window { limit: 1, before: None, after: None };
        assert_eq!(page("limit=1"), all);
        assert_eq!(page("limit=1000&unknown=1&filter=x").limit, 1000);
        let before = Window { before: Some(id), ..all };
        assert_eq!(page(&format!("before={UPPER}&limit=1")), before);
        let window = Window { after: Some(id), ..before };
        assert_eq!(page(&format!("limit=1&after={LOWER}&before={LOWER}")), window);
    }

    #[test]
    fn filters_are_those_the_list_asks_for() {
        let id: Id = LOWER.parse().unwrap();
        for brackets in [["[", "]"], ["%5B", "%5D"], ["%5b", "%5d"]] {
            let query = "limit=9&filter[successful]=no&filter[merchantId]=ID&filter[other][x]=&x=";
            let query = query.replace('[', brackets[0]).replace(']', brackets[1]);
            let (_, read) = read(Some(&query.replace("ID", UPPER)), filters).unwrap();
            assert_eq!(read, (Some(false), id, None));
        }
    }

    #[test]
    fn every_error_is_found() {
        let good = format!("filter[merchantId]={LOWER}");
        for limit in ["0", "1001", "65537", "", "-1", "+1", "1.0", "1e2", "x", "９"] {
            let query = format!("limit={}&{good}", limit.replace('+', "%2B"));
            assert_eq!(wrong(&query)[0].0, "limit", "{limit}");
        }
        for cursor in ["", "x", &LOWER[1..], &format!("{LOWER}0"), "+f0c1e2da0b1c2d3e4f50617"] {
            let query = format!("limit=1&before={}&{good}", cursor.replace('+', "%2B"));
            let rule = "must be 24 hexadecimal digits".to_owned();
            assert_eq!(wrong(&query), [("before".to_owned(), rule)], "{cursor}");
        }
        let fields =
            |query: &str| wrong(query).into_iter().map(|(field, _)| field).collect::<Vec<_>>();
        let all = "limit=0&before=1&after=2&filter[successful]=maybe&filter[transactionId]=";
        assert_eq!(
            fields(all),
            [
                "limit",
                "before",
                "after",
                "filter.successful",
                "filter.merchantId",
                "filter.transactionId"
            ]
        );
        assert_eq!(fields(""), ["limit", "filter.merchantId"]);
        assert_eq!(fields("filter=x"), ["limit", "filter"]);
        assert_eq!(fields("limit=%ff"), [""]);
        for name in ["limit", "before", "after"] {
            let query = format!("limit=1&{name}={LOWER}&{name}={LOWER}");
            assert_eq!(fields(&query), [name]);
        }
    }

    #[test]
    fn a_list_is_an_array_with_an_item_on_each_line() {
        let object = |id: &'static str| BTreeMap::from([("id", id), ("text", "a\nb")]);
        for (items, expected) in [
            (vec![], "[\n]"),
            (vec![object("1")], "[\n{\"id\":\"1\",\"text\":\"a\\nb\"}\n]"),
            (
                vec![object("1"), object("2")],
                "[\n{\"id\":\"1\",\"text\":\"a\\nb\"},\n{\"id\":\"2\",\"text\":\"a\\nb\"}\n]",
            ),
        ] {
            assert_eq!(lines(&items).unwrap(), expected.as_bytes());
            let response = list(items);
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        }
        let no_json = [BTreeMap::from([((1, 2), 3)])];
        assert_eq!(list(no_json).status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(query in "(limit|before|after|filter|[\\[\\]=&%+]|[0-9a-f]|\\PC){0,20}") {
            let read = read(Some(&query), |fields| fields.object("filter").flag("test"));
            prop_assert!(read.map_or_else(|errors| !errors.is_empty(), |_| true));
        }
    }
}
