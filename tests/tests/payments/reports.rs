//! Files in which a bank reports transfers that came back.

use crate::payouts::DANISH;

/// A transfer, as the bank names it.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// The end-to-end ID.
    pub(crate) id: String,
    pub(crate) currency: String,
    /// In major units. If it is empty, a status report leaves it out.
    pub(crate) amount: String,
}

impl Transfer {
    pub(crate) fn new(id: &str, currency: &str, amount: &str) -> Self {
        let [id, currency, amount] = [id, currency, amount].map(str::to_owned);
        Self { id, currency, amount }
    }
}

pub(crate) const CSV_HEADER: &str = "end_to_end_id,amount,currency,reason,date\n";

/// A CSV file of returns.
pub(crate) fn csv(day: &str, returns: &[Transfer]) -> String {
    let row = |Transfer { id, currency, amount }: &Transfer| {
        format!("{id},{amount},{currency},AC04,{day}\n")
    };
    format!("{CSV_HEADER}{}", returns.iter().map(row).collect::<String>())
}

/// A statement (`camt.053`) or notification (`camt.054`) with a payment, and with returns as one
/// entry.
pub(crate) fn camt(kind: &str, day: &str, returns: &[Transfer]) -> String {
    let account = format!("<Acct><Id><IBAN>{DANISH}</IBAN></Id></Acct>");
    let balance = format!(
        "<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy=\"EUR\">1.00</Amt>
         <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
    );
    let (root, list, balance) = match kind {
        "camt.053" => ("BkToCstmrStmt", "Stmt", &*balance),
        _ => ("BkToCstmrDbtCdtNtfctn", "Ntfctn", ""),
    };
    let entry = |code: &str, details: &str| {
        format!(
            "<Ntry><Amt Ccy=\"EUR\">5.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>
             <Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt>
             <BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>{code}</SubFmlyCd></Fmly></Domn>
             </BkTxCd><NtryDtls>{details}</NtryDtls></Ntry>"
        )
    };
    let payment = "<TxDtls><Refs><EndToEndId>Invoice 1</EndToEndId></Refs></TxDtls>";
    let returned = |Transfer { id, currency, amount }: &Transfer| {
        format!(
            "<TxDtls><Refs><EndToEndId>{id}</EndToEndId></Refs><Amt Ccy=\"{currency}\">{amount}</Amt>
             <RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>account closed</AddtlInf></RtrInf></TxDtls>"
        )
    };
    let returns: String = returns.iter().map(returned).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
         <Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:{kind}.001.08\"><{root}>
         <GrpHdr><MsgId>1</MsgId><CreDtTm>{day}T20:00:00Z</CreDtTm></GrpHdr>
         <{list}><Id>1</Id>{account}{balance}{}{}</{list}></{root}></Document>",
        entry("ESCT", payment),
        entry("RRTN", &returns),
    )
}

/// What a status report (`pain.002`) says: the status of the file with this ID, of its batch, and
/// of transfers. `RJCT`, or another.
pub(crate) fn pain002(
    day: &str,
    message: &str,
    [group, batch]: [&str; 2],
    transfers: &[(Transfer, &str)],
) -> String {
    let transfer = |(Transfer { id, currency, amount }, status): &(Transfer, &str)| {
        let amount = match &**amount {
            "" => String::new(),
            amount => format!(
                "<OrgnlTxRef><Amt><InstdAmt Ccy=\"{currency}\">{amount}</InstdAmt></Amt></OrgnlTxRef>"
            ),
        };
        format!(
            "<TxInfAndSts><OrgnlEndToEndId>{id}</OrgnlEndToEndId><TxSts>{status}</TxSts>
             <StsRsnInf><Rsn><Cd>AC01</Cd></Rsn></StsRsnInf>{amount}</TxInfAndSts>"
        )
    };
    let transfers: String = transfers.iter().map(transfer).collect();
    format!(
        "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:pain.002.001.10\"><CstmrPmtStsRpt>
         <GrpHdr><MsgId>1</MsgId><CreDtTm>{day}T20:00:00Z</CreDtTm></GrpHdr>
         <OrgnlGrpInfAndSts><OrgnlMsgId>{message}</OrgnlMsgId>
         <OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId><GrpSts>{group}</GrpSts></OrgnlGrpInfAndSts>
         <OrgnlPmtInfAndSts><OrgnlPmtInfId>{message}</OrgnlPmtInfId><PmtInfSts>{batch}</PmtInfSts>
         {transfers}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"
    )
}
