//! The readers, on messages as banks send them.

use std::io::Write as _;

use super::{
    Entry, RejectedFile, Returned,
    book::ProblemKind,
    file::{ReadError, ReturnsFile},
};

fn read(content: &[u8]) -> Result<Vec<Entry>, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    let mut entries = Vec::new();
    let mut file = ReturnsFile::open(file.path()).map_err(text)?;
    while let Some(entry) = file.next().map_err(text)? {
        entries.push(entry);
    }
    assert!(file.position() <= file.size() && file.size() == content.len() as u64);
    Ok(entries)
}

fn text(error: ReadError) -> String {
    match error {
        ReadError::Format(reason) => reason,
        ReadError::Io(error) => panic!("{error}"),
    }
}

fn returned(line: u64, id: &str, amount: Option<[&str; 2]>, reason: &str) -> Entry {
    Entry::Returned(Returned {
        line,
        end_to_end_id: id.to_owned(),
        amount: amount.map(|amount| amount.map(str::to_owned)),
        date: Some("2026-11-24".to_owned()),
        reason: reason.to_owned(),
    })
}

const STATEMENT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>
<Ntry><Amt Ccy="EUR">14.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><DtTm>2026-11-24T08:00:00+01:00</DtTm></BookgDt><NtryDtls><Btch><NbOfTxs>3</NbOfTxs></Btch>
<TxDtls><Refs><EndToEndId>a</EndToEndId></Refs><Amt Ccy="EUR">9.45</Amt>
<RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>account</AddtlInf><AddtlInf>closed</AddtlInf></RtrInf></TxDtls>
<TxDtls><Refs><EndToEndId>b</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy="EUR">4.55</Amt></TxAmt></AmtDtls>
<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>RRTN</SubFmlyCd></Fmly></Domn></BkTxCd></TxDtls>
<TxDtls><Refs><EndToEndId>no return</EndToEndId></Refs></TxDtls>
<TxDtls><Refs><EndToEndId>without amount</EndToEndId></Refs><RtrInf/></TxDtls>
</NtryDtls></Ntry>
<Ntry><Amt Ccy="DKK">7</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>2026-11-24</Dt></BookgDt><NtryDtls><TxDtls><Refs><EndToEndId>c</EndToEndId></Refs>
<RtrInf><Rsn><Prtry>closed &amp; gone &#x2014; <![CDATA[<sorry>]]></Prtry></Rsn></RtrInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-24</Dt></BookgDt>
<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>RRTN</SubFmlyCd></Fmly></Domn></BkTxCd></Ntry>
<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<NtryDtls><TxDtls><Refs><EndToEndId>debit</EndToEndId></Refs><RtrInf/></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts>
<NtryDtls><TxDtls><Refs><EndToEndId>pending</EndToEndId></Refs><RtrInf/></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts></Ntry>
</Stmt></BkToCstmrStmt></Document>
"#;

fn of_statement() -> Vec<Entry> {
    vec![
        returned(5, "a", Some(["EUR", "9.45"]), "AC04: account closed"),
        returned(7, "b", Some(["EUR", "4.55"]), ""),
        Entry::Other,
        returned(10, "without amount", Some(["", ""]), ""),
        returned(13, "c", Some(["DKK", "7"]), "closed & gone \u{2014} <sorry>"),
        returned(15, "", Some(["EUR", "1.00"]), ""),
        Entry::Other,
        Entry::Other,
        Entry::Other,
    ]
}

#[test]
fn a_statement_has_the_returns_among_other_entries() {
    assert_eq!(read(STATEMENT.as_bytes()).unwrap(), of_statement());
    let notification = STATEMENT
        .replace("camt.053", "camt.054")
        .replace("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn")
        .replace("Stmt>", "Ntfctn>");
    assert_eq!(read(notification.as_bytes()).unwrap(), of_statement());
}

#[test]
fn the_reversal_of_a_debit_is_a_return_and_that_of_a_return_is_named() {
    let reversed = |direction: &str, indicator: &str, information: &str| {
        format!(
            "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt><Stmt>
             <Ntry><Amt Ccy=\"EUR\">9.45</Amt><CdtDbtInd>{direction}</CdtDbtInd>
             <RvslInd>{indicator}</RvslInd><Sts><Cd>BOOK</Cd></Sts>
             <BookgDt><Dt>2026-11-24</Dt></BookgDt><NtryDtls><TxDtls><Refs>
             <EndToEndId>a</EndToEndId></Refs>{information}</TxDtls></NtryDtls></Ntry>
             </Stmt></BkToCstmrStmt></Document>"
        )
    };
    let read = |direction, indicator, information| {
        read(reversed(direction, indicator, information).as_bytes()).unwrap().remove(0)
    };
    let transfer = returned(4, "a", Some(["EUR", "9.45"]), "");
    assert_eq!(read("CRDT", "true", ""), transfer);
    assert_eq!(read("CRDT", "1", "<RtrInf/>"), transfer);
    for (direction, indicator) in [("CRDT", "false"), ("DBIT", "true")] {
        assert_eq!(read(direction, indicator, ""), Entry::Other, "{direction} {indicator}");
    }
    let Entry::Named(4, id, problem) = read("DBIT", "true", "<RtrInf/>") else { panic!() };
    assert_eq!((&*id, problem.kind), ("a", ProblemKind::Reversed));
    assert_eq!(problem.there, "\"EUR 9.45\"");
}

#[test]
fn prefixes_comments_and_a_byte_order_mark_change_nothing() {
    let prefixed = STATEMENT
        .replace("</", "</camt:")
        .replace('<', "<camt:")
        .replace("<camt:/camt:", "</camt:")
        .replace("<camt:?", "<?")
        .replace("<camt:!", "<!")
        .replace("<camt:sorry", "<sorry")
        .replace("xmlns=", "xmlns:camt=");
    assert_eq!(read(prefixed.as_bytes()).unwrap(), of_statement());
    let commented = STATEMENT.replace("BOOK", "BO<!-- - -->OK<?x y?>");
    assert_eq!(read(commented.as_bytes()).unwrap(), of_statement());
    let marked = format!("\u{feff}{STATEMENT}");
    assert_eq!(read(marked.as_bytes()).unwrap(), of_statement());
    let without_declaration = STATEMENT.split_once('\n').unwrap().1;
    assert_eq!(read(without_declaration.as_bytes()).unwrap().len(), of_statement().len());
}

const REPORT: &str = r#"<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
<GrpHdr><MsgId>1</MsgId><CreDtTm>2026-11-24T08:00:00</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>group</OrgnlMsgId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>batch</OrgnlPmtInfId><PmtInfSts>PART</PmtInfSts>
<TxInfAndSts><OrgnlEndToEndId>a</OrgnlEndToEndId><TxSts>RJCT</TxSts><StsRsnInf><Rsn><Cd>AC01</Cd></Rsn></StsRsnInf>
<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">9.45</InstdAmt></Amt></OrgnlTxRef></TxInfAndSts>
<TxInfAndSts><OrgnlEndToEndId>b</OrgnlEndToEndId><TxSts>RJCT</TxSts></TxInfAndSts>
<TxInfAndSts><OrgnlEndToEndId>c</OrgnlEndToEndId><TxSts>ACSC</TxSts></TxInfAndSts>
</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"#;

fn rejected(line: u64, id: &str, reason: &str) -> Entry {
    Entry::Rejected(RejectedFile {
        line,
        message_id: id.to_owned(),
        date: Some("2026-11-24".to_owned()),
        reason: reason.to_owned(),
    })
}

#[test]
fn a_status_report_rejects_transfers_batches_and_files() {
    let transfers =
        [returned(5, "a", Some(["EUR", "9.45"]), "AC01"), returned(7, "b", None, ""), Entry::Other];
    assert_eq!(read(REPORT.as_bytes()).unwrap(), transfers);
    let (batch, group) = (rejected(4, "batch", ""), rejected(3, "group", "FF01: the schema"));
    // The second transfer has no reason of its own.
    let [first, ..] = transfers;
    let transfers = [first, Entry::Other, Entry::Other];
    let batch_report = REPORT.replace("<PmtInfSts>PART", "<PmtInfSts>RJCT");
    let entries = read(batch_report.as_bytes()).unwrap();
    assert_eq!((&entries[..3], &entries[3..]), (&transfers[..], &[batch][..]));
    let reason = "<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>FF01</Cd></Rsn><AddtlInf>the schema\
                  </AddtlInf></StsRsnInf>";
    let group_report = REPORT.replace("<GrpSts>PART</GrpSts>", reason);
    let entries = read(group_report.as_bytes()).unwrap();
    assert_eq!((&entries[..3], &entries[3..]), (&transfers[..], &[group][..]));
}

#[test]
fn what_is_rejected_as_a_duplicate_does_not_come_back() {
    let duplicate = |code: &str| format!("<StsRsnInf><Rsn><Cd>{code}</Cd></Rsn></StsRsnInf>");
    let kinds = |report: &str| -> Vec<Option<ProblemKind>> {
        let kind = |entry: &Entry| match entry {
            Entry::Named(_, _, problem) => Some(problem.kind),
            _ => None,
        };
        read(report.as_bytes()).unwrap().iter().map(kind).collect()
    };
    let named = Some(ProblemKind::Duplicate);
    let group = |code: &str| {
        let reason = format!("<GrpSts>RJCT</GrpSts>{}", duplicate(code));
        REPORT.replace("<GrpSts>PART</GrpSts>", &reason)
    };
    assert_eq!(kinds(&group("DU01")), [named, named, None, named]);
    assert_eq!(kinds(&group("FF01")), [None; 4]);
    let batch = format!("<PmtInfSts>RJCT</PmtInfSts>{}", duplicate("DU02"));
    let batch = REPORT.replace("<PmtInfSts>PART</PmtInfSts>", &batch);
    assert_eq!(kinds(&batch), [named, named, None, named]);
    // The same report often rejects the file, too, without a reason of its own.
    let whole = |report: &str| report.replace("<GrpSts>PART", "<GrpSts>RJCT");
    assert_eq!(kinds(&whole(&batch)), [named, named, None, named, named]);
    let transfers = whole(&REPORT.replace("AC01", "AM05"));
    assert_eq!(kinds(&transfers), [named, None, None, named]);
    let entries = read(transfers.as_bytes()).unwrap();
    assert_eq!(entries[1], Entry::Other, "it is part of a file that is a duplicate");
    assert_eq!(kinds(&REPORT.replace("AC01", "AM05")), [named, None, None]);
    let proprietary = REPORT.replace("<Cd>AC01</Cd>", "<Prtry>DU01</Prtry>");
    assert_eq!(kinds(&proprietary), [named, None, None]);
    // A text for people is no code.
    let explained = REPORT.replace("</Rsn>", "</Rsn><AddtlInf>DU01</AddtlInf>");
    assert_eq!(kinds(&explained), [None; 3]);
}

#[test]
fn a_row_of_csv_is_a_return() {
    let header = "end_to_end_id,amount,currency,reason,date\n";
    let rows = "a,9.45,EUR,\"AC04, closed\",2026-11-24\nb,1\n";
    let entries = read(format!("{header}{rows}").as_bytes()).unwrap();
    assert_eq!(entries[0], returned(2, "a", Some(["EUR", "9.45"]), "AC04, closed"));
    assert!(matches!(entries[1], Entry::Named(3, ..)), "{entries:?}");
    let entries = read(&[header.as_bytes(), b"\xff,1,EUR,,2026-11-24\n"].concat()).unwrap();
    assert!(matches!(entries[..], [Entry::Named(2, ..)]), "{entries:?}");
    assert_eq!(read(header.as_bytes()).unwrap(), []);
    for other in ["", "\n", "a,b\n", "id,merchant,name,iban,currency,amount,reference\n"] {
        assert!(read(other.as_bytes()).unwrap_err().contains("end_to_end_id"), "{other}");
    }
}

#[test]
fn what_could_use_memory_without_end_is_refused() {
    let long = "x".repeat(64 * 1024);
    let laughs = r#"<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>"#;
    let external = r#"<!DOCTYPE Document SYSTEM "file:///etc/passwd">"#;
    for (from, to, expected) in [
        ("<Document", format!("{laughs}<Document"), "document type definition"),
        ("<Document", format!("{external}<Document"), "document type definition"),
        ("<Document", format!("<!DOCTYPE {long}"), "longer than 65536 bytes"),
        ("AC04", "&lol2;".to_owned(), "refers to an entity"),
        ("AC04", "&#0;".to_owned(), "character"),
        ("AC04", long.clone(), "longer than 65536 bytes"),
        ("AC04", format!("{0}<!-- -->{0}", &long[..40_000]), "longer than 65536 bytes"),
        ("AC04", format!("<![CDATA[{long}]]>"), "longer than 65536 bytes"),
        ("AC04", format!("<!-- {long} -->"), "longer than 65536 bytes"),
        ("AC04", format!("<{long}/>"), "longer than 65536 bytes"),
        ("AC04", format!("<x y=\"{long}\"/>"), "longer than 65536 bytes"),
        ("AC04", format!("<?x {long}?>"), "longer than 65536 bytes"),
        ("AC04", "<x>".repeat(100), "64 levels deep"),
    ] {
        let content = STATEMENT.replacen(from, &to, 1);
        let reason = read(content.as_bytes()).unwrap_err();
        assert!(reason.contains(expected) && reason.contains("line "), "{expected}: {reason}");
        assert!(reason.len() < 1000, "{reason}");
    }
}

#[test]
fn a_broken_or_other_document_is_refused() {
    for (from, to, expected) in [
        ("camt.053.001.08", "camt.053.001.02", "none of camt.053.001.08"),
        ("camt.053.001.08", "pain.001.001.09", "none of camt.053.001.08"),
        (" xmlns=", " xmlns:other=", "none of camt.053.001.08"),
        ("encoding=\"UTF-8\"", "encoding=\"ISO-8859-1\"", "its encoding is ISO-8859-1"),
        ("</Ntry>", "</Other>", "Other"),
        ("</Document>", "", "ends too early"),
        ("</Document>", "</Document><Document>", "several root elements"),
        ("</Document>", "</Document>more", "outside of its root"),
        ("<Document", "more<Document", "outside of its root"),
    ] {
        let content = STATEMENT.replacen(from, to, 1);
        let reason = read(content.as_bytes()).unwrap_err();
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
    for half in 1..STATEMENT.trim_end().len() {
        assert!(read(&STATEMENT.as_bytes()[..half]).is_err(), "{half}");
    }
    let latin = [STATEMENT.split_once("AC04").unwrap().0.as_bytes(), b"\xe9"].concat();
    assert!(read(&latin).unwrap_err().contains("line 6"), "{:?}", read(&latin));
    assert!(read(b"<Document/>").unwrap_err().contains("no content"));
}
