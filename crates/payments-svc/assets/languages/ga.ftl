### Irish

## Every page

payment-to-shop = Íocaíocht le { $shop }
test-payment = Is tástáil í seo: ní ghearrfar aon airgead ort.
contact = Ceisteanna faoi d’ordú
terms = Téarmaí agus coinníollacha
privacy = Polasaí príobháideachais
accessibility = Inrochtaineacht

## Amount form

amount = Méid
amount-error =
    { $decimals ->
        [0] Cuir isteach an méid i ndigití, gan ionaid dheachúlacha.
        [one] Cuir isteach an méid i ndigití, le { $decimals } ionad deachúlach ar a mhéad.
       *[other] Cuir isteach an méid i ndigití, le { $decimals } ionad dheachúlacha ar a mhéad.
    }
currency = Airgeadra
currency-error = Cuir isteach cód airgeadra trí litir, mar shampla EUR.
currency-unknown = Ní féidir íoc san airgeadra seo. Iontráil cód eile, mar shampla EUR.
proceed = Ar aghaidh

## Card form

card-details = Sonraí an chárta
form-error = Ceartaigh na réimsí atá marcáilte.
card-number = Uimhir an chárta
card-number-error = Cuir isteach uimhir an chárta, 12 go 19 ndigit.
card-number-typo = Seiceáil uimhir an chárta: tá digit mícheart.
accepted-cards = Cártaí a nglactar leo
expiry-date = Dáta éaga
expiry-date-malformed = Cuir isteach an mhí agus an bhliain atá ar an gcárta, mar shampla 08/29.
expiry-date-past = Tá an cárta imithe in éag. Seiceáil an dáta nó úsáid cárta eile.
security-code = Cód slándála
security-code-hint = 3 nó 4 dhigit ar an gcárta
security-code-error = Cuir isteach na 3 nó 4 dhigit atá sa chód slándála.
security-code-back = Cuir isteach na 3 dhigit ar chúl an chárta.
security-code-front = Cuir isteach na 4 dhigit ar aghaidh an chárta.
needs-script = Chun íoc anseo, cas JavaScript air agus athlódáil an leathanach.
card-saved = Sábhálfar do chárta le haghaidh íocaíochtaí leis an siopa seo amach anseo.
receipt-email = Ríomhphost le haghaidh d’admhála (roghnach)
pay = Íoc { $amount }

## Payment in progress

processing = Tá d’íocaíocht á próiseáil
processing-hint = Nuashonrófar an leathanach seo go huathoibríoch. Ná híoc arís.
check-again = Seiceáil arís
confirm-payment = Deimhnigh an íocaíocht
simulated-bank = Ionsamhlú ar bhanc, le haghaidh tástála
confirm-card = Fiafraíonn do bhanc díot: an bhfuil tú ag déanamh na híocaíochta seo leis an gcárta dar críoch { $last4 }?
confirm = Deimhnigh
cancel = Cealaigh

## Result

payment-successful = D’éirigh leis an íocaíocht
payment-successful-hint = Is féidir leat an leathanach seo a dhúnadh.
transaction = Idirbheart
shop = Siopa
date = Dáta
card = Cárta
reference = Tagairt
receipt = Admháil
payment-failed = Theip ar an íocaíocht
declined-details = Níor ghlac an banc le sonraí an chárta. Seiceáil iad agus bain triail eile as.
declined-expired = Tá an cárta imithe in éag. Bain triail as ceann eile.
declined-funds = Níl go leor airgid sa chuntas, nó sáraíodh teorainn an chárta. Bain triail as cárta eile.
declined-bank = Dhiúltaigh an banc don íocaíocht. Bain triail as cárta eile, nó déan teagmháil le do bhanc.
declined-again = Tharla earráid, ach níor gearradh aon airgead ort. Bain triail eile as.
declined-unsupported = Ní ghlactar leis an gcárta seo. Bain triail as ceann eile.
declined-unconfirmed = Níor deimhníodh an íocaíocht le do bhanc.
declined-shop = Ní féidir leis an siopa glacadh leis an íocaíocht seo. Déan teagmháil leis an siopa.
try-again = Bain triail eile as
back-to-shop = Ar ais chuig an siopa

## Problems

link-broken = Níl an nasc íocaíochta seo ag obair
link-broken-hint = Iarr ceann nua ar an siopa.
link-used = Úsáideadh an nasc seo cheana
link-expired = Tá an nasc íocaíochta seo imithe in éag
form-expired = Tá an leathanach seo ró-shean
form-expired-hint = Níor gearradh aon rud ort, agus níor coinníodh aon rud a d’iontráil tú.
unavailable = Ní féidir íoc faoi láthair
unavailable-hint = Bain triail eile as i gceann cúpla nóiméad. Ní ghearrfar an méid ort faoi dhó.
too-many-attempts = An iomarca iarrachtaí
too-many-attempts-hint = Fan cúpla nóiméad, ansin bain triail eile as. Níor gearradh aon airgead ort.

## Invitation e-mail

invitation-subject = Cuireadh chuig { $merchant }
invitation-greeting = A chara,
invitation-by-app = Thug { $app } cuireadh duit cabhrú le bainistiú íocaíochtaí { $merchant }.
invitation = Fuair tú cuireadh cabhrú le bainistiú íocaíochtaí { $merchant }.
invitation-more = Is féidir leis an duine a thug cuireadh duit tuilleadh a insint duit.
invitation-unexpected = Mura raibh tú ag súil leis an teachtaireacht seo, is féidir leat neamhaird a dhéanamh di.

## Mails of the desk

invitation-link = Oscail an leathanach seo laistigh de 72 uair an chloig chun glacadh leis an gcuireadh agus chun logáil isteach:
sign-in-subject = Do nasc chun logáil isteach
sign-in-mail = Oscail an leathanach seo laistigh de 15 nóiméad, sa bhrabhsálaí inar iarr tú an nasc:
sign-in-unexpected = Murar iarr tú an nasc seo, is féidir leat neamhaird a dhéanamh den teachtaireacht seo. Ní féidir le duine ar bith logáil isteach gan an nasc.
receipt-mail = D’íoc tú { $amount } le { $merchant }. Taispeánann an nasc seo an admháil agus aisíocaíochtaí níos déanaí ar feadh 18 mí:
dispute-subject = Díospóid faoi íocaíocht de chuid { $merchant }
dispute-mail = Tá custaiméir ag conspóid { $amount } d’íocaíocht de chuid { $merchant }. Is féidir freagra a thabhairt go dtí { $day }.
payout-subject = Íocaíocht amach chuig { $merchant }
payout-mail = Tá { $amount } ar an mbealach chuig cuntas bainc { $merchant }.
return-subject = Tháinig íocaíocht amach chuig { $merchant } ar ais
return-mail = Sheol an banc { $amount } ar ais a íocadh amach chuig { $merchant }. Fanfaidh íocaíochtaí amach eile go dtí go mbeidh an cuntas bainc i gceart.
webhook-subject = Tá webhook de chuid { $merchant } díchumasaithe
webhook-mail = Tá webhook d’aip de chuid { $merchant } díchumasaithe, mar gur theip ar a sheachadtaí. Ní chloiseann an aip faoi íocaíochtaí a thuilleadh.
more-at-desk = Tá tuilleadh ag an deasc, áit a roghnaíonn tú freisin cé na teachtaireachtaí a fhaigheann tú:

## Desk: sign in

sign-in = Logáil isteach
email-address = Seoladh ríomhphoist
email-address-hint = Seolfaimid nasc chugat chun logáil isteach.
email-address-error = Cuir isteach do sheoladh ríomhphoist, mar shampla ann@shop.example.
send-link = Seol an nasc
check-mail = Seiceáil do ríomhphost
check-mail-hint = Má bhaineann { $email } le húsáideoir, tá nasc seolta againn. Oscail é sa bhrabhsálaí seo laistigh de 15 nóiméad.
sign-in-as = Tá tú ag logáil isteach mar { $email }.
sign-in-broken = Níl an nasc seo ag obair
sign-in-broken-hint = Úsáideadh cheana é, tá sé imithe in éag, nó baineann sé le brabhsálaí eile.
new-link = Iarr nasc nua
wait-hint = Fan cúpla nóiméad, ansin bain triail eile as.
desk-unavailable = Níl an leathanach seo ar fáil faoi láthair

## Desk: every page

merchants = Siopaí
test-mark = Tástáil
sign-out = Logáil amach
foreign-form = Seoladh an fhoirm seo ó shuíomh gréasáin eile
foreign-form-hint = Ní dhearnadh aon rud. Téigh ar ais agus seol an fhoirm arís.
not-found = Níl an leathanach seo ann
merchant-held = Ar fionraí: { $reason }
not-approved = Ní ghlacann an siopa seo le híocaíochtaí sula bhfaomhann an t-oibreoir é

## Desk: payments

payments = Íocaíochtaí
search = Cuardaigh
more-filters = Tuilleadh scagairí
last-four = Na ceithre dhigit dheireanacha den chárta
last-four-error = Cuir isteach ceithre dhigit.
from-day = Ó
to-day = Go dtí
day-error = Cuir isteach dáta, mar shampla 2026-11-28.
state = Stádas
all-states = Gach stádas
nothing-found = Níor aimsíodh aon íocaíocht.
download-csv = Íoslódáil CSV
older-payments = Íocaíochtaí níos sine
newest-payments = Na híocaíochtaí is déanaí
all-merchants = Gach siopa
balance = Iarmhéid
authorized = Údaraithe
captured = Bailithe
partly-captured = Bailithe go páirteach
refunded = Aisíoctha
partly-refunded = Aisíoctha go páirteach
voided = Cealaithe
disputed = Faoi dhíospóid
failed = Theip uirthi
dispute-won = Buadh an díospóid
dispute-lost = Cailleadh an díospóid
evidence-submitted = Fianaise curtha isteach
dispute-accepted = Glacadh leis an gcaillteanas
history = Stair
fees = Táillí

## Desk: capture, refund and release

capture = Gabh
refund = Aisíoc
release = Scaoil
at-most = { $amount } ar a mhéad
available = Ar fáil
left-afterwards = Fágtha ina dhiaidh sin
changed-meanwhile = D’athraigh an íocaíocht idir an dá linn. Seiceáil an méid.
movement-refused = Ní féidir é seo a thuilleadh, nó ní féidir leis an méid seo.

## Desk: mails

mails = Ríomhphoist
mails-hint = Cé na ríomhphoist faoin siopa seo atá uait?
mail-dispute = Tá custaiméir ag conspóid íocaíochta
mail-payout = Íoctar amach an t-iarmhéid
mail-return = Tháinig íocaíocht amach ar ais
mail-webhook = Tá webhook díchumasaithe
save = Sábháil
saved = Sábháilte

## Desk: account

account = Cuntas
authenticator = Aip fíordheimhnithe
authenticator-works = Tá d’aip fíordheimhnithe socraithe.
authenticator-missing = Sula mbogann tú airgead nó sula n-athraíonn tú eochracha, teastaíonn cód ó aip fíordheimhnithe ar do ghuthán nó ar do ríomhaire.
set-up-authenticator = Socraigh aip fíordheimhnithe
remove-authenticator = Bain an aip fíordheimhnithe
scan-code = Scan an cód seo leis an aip.
qr-code = Cód QR
type-secret = Nó cuir an eochair seo isteach san aip:
enter-code = Cuir do chód isteach
code = Cód
code-hint = Sé dhigit ó d’aip fíordheimhnithe, nó cód athshlánaithe.
first-code-hint = Na sé dhigit a thaispeánann an aip.
code-error = Ní oibríonn an cód seo. Cuir an chéad cheann eile isteach.
code-locked = An iomarca cód mícheart. Fan 15 nóiméad, ansin bain triail eile as.
recovery-codes = Cóid athshlánaithe
recovery-codes-hint = Má chailleann tú an aip, cuir isteach ceann de na cóid seo. Oibríonn gach ceann uair amháin. Coinnigh in áit shábháilte anois iad: ní thaispeánfaidh an leathanach seo arís iad.
recovery-codes-left = Cóid athshlánaithe fágtha: { $count }
new-recovery-codes = Déan cóid athshlánaithe nua
sessions = Áit a bhfuil tú logáilte isteach
session-began = Logáilte isteach: { $time }
session-used = Úsáid dheireanach: { $time }
this-session = An brabhsálaí seo
end-sessions = Logáil amach i ngach brabhsálaí eile

## Desk: balance and disputes

payouts = Íocaíochtaí amach
all-payouts = Gach íocaíocht amach
payout = Íocaíocht amach
payout-returned = Íocaíocht amach seolta ar ais
paid-out = Íoctha amach
month = Mí
next-page = An chéad leathanach eile
first-page = An chéad leathanach
nothing-yet = Faic go fóill
disputes = Díospóidí
open-disputes = Díospóidí oscailte
decided-disputes = Díospóidí réitithe
days-left = Laethanta fágtha: { $days }
inquiry = Fiosrúchán
evidence = Fianaise
evidence-text = Do mhíniú
evidence-files = Comhaid
evidence-hint = 5 chomhad PDF, PNG nó JPEG ar a mhéad, 4.5 MB san iomlán, agus 20,000 carachtar. Tagann comhaid nua in áit na gcomhad a sábháladh.
submit-evidence = Cuir fianaise isteach
submit-evidence-hint = Is féidir é a chur isteach uair amháin. Ansin socraíonn banc an chustaiméara.
accept-dispute = Glac leis an gcaillteanas
accept-dispute-hint = Coinníonn an custaiméir an t-airgead. Ní féidir é seo a chealú.

## Desk: overview

overview = Forléargas
next-payout = Ag fanacht leis an gcéad íocaíocht amach eile
payouts-held = Tá íocaíochtaí amach ar fionraí
refused-captures = Diúltaithe ag an bhfaighteoir, 30 lá seo caite
disabled-webhooks = Webhooks díchumasaithe
last-days = Gafa lúide aisíoctha, 30 lá seo caite
days-in-utc = Tá na laethanta in UTC
as-table = Mar thábla
day = Lá

## Desk: people

people = Daoine
member-since = Ball ó { $time }
invited = Tugtha cuireadh
invited-until = Tugtha cuireadh: oibríonn an nasc go dtí { $time }
invitation-expired = Tá an cuireadh imithe in éag
invite = Tabhair cuireadh
invite-hint = Faigheann an duine nasc trí ríomhphost, a oibríonn ar feadh 72 uair an chloig, agus is féidir leis gach rud a dhéanamh anseo ansin.
invite-again = Tabhair cuireadh arís
remove = Bain { $name }?
remove-hint = Cuirtear deireadh leis an rochtain ar an siopa seo láithreach.
remove-yourself = Bain tú féin?
remove-button = Bain
last-member = Ní féidir an ball deireanach a bhaint. Tabhair cuireadh do dhuine ar dtús.
apps = Aipeanna

## Desk: developers

developers = Forbróirí
foreign-app = Oibríonn an aip seo do shiopaí nach ball díobh thú freisin, mar sin ní féidir leat a heochracha agus a webhookanna a bhainistiú.
api-keys = Eochracha API
created-on = Cruthaithe { $time }
last-used = Úsáidte go deireanach { $time }
never-used = Níor úsáideadh riamh
key-name = Ainm na heochrach
create-key = Cruthaigh eochair
key-created = Cruthaíodh eochair API
too-many-keys = Tá 20 eochair ag an aip seo, an t-uasmhéid. Bain ceann ar dtús.
last-key = Ní féidir an eochair dheireanach a bhaint. Cruthaigh ceann eile ar dtús.
remove-key-hint = Diúltaítear láithreach do chláir a úsáideann an eochair seo.
secret-once = Ní thaispeántar é ach an t-aon uair amháin seo. Cóipeáil é chuig áit shábháilte.
secret-shown = Taispeánadh é uair amháin, agus ní féidir é a thaispeáint arís.
webhooks = Webhookanna
create-webhook = Cruthaigh webhook
webhook-url = Seoladh (URL)
webhook-url-error = Cuir isteach seoladh a thosaíonn le https:// agus ar féidir teacht air ón idirlíon.
event-types = Imeachtaí
event-types-hint = Gan rogha, seoltar gach imeacht.
too-many-webhooks = Tá 20 webhook ag an aip seo, an t-uasmhéid. Bain ceann ar dtús.
enabled = Cumasaithe
disabled = Díchumasaithe
disabled-failures = Díchumasaithe, mar theip ar sheachadtaí ar feadh cúig lá
disabled-gone = Díchumasaithe, mar níl an glacadóir ag iarraidh tuilleadh imeachtaí
send-test = Seol tástáil
new-secret = Rún nua
send-again = Seol imeachtaí arís
new-secret-hint = Ar feadh 24 uair an chloig, síníonn an seanrún freisin.
send-again-hint = Seoltar arís gach imeacht ó thús an lae seo.
remove-webhook-hint = Ní sheoltar rud ar bith eile chuig an seoladh seo.
deliveries = Seachadtaí
delivered = Seachadta
next-attempt = An chéad iarracht eile { $time }

## Desk: payment links

payment-links = Naisc íocaíochta
link-text = Téacs don chustaiméir
link-text-error = Úsáid níos lú carachtar, agus litreacha, digití agus poncaíocht amháin.
link-once = Ní féidir íoc ach uair amháin
link-language = Teanga an leathanaigh
link-language-browser = Mar atá i mbrabhsálaí an chustaiméara
link-unsigned = Níl eochair ag an siopa seo do naisc, mar sin níl na naisc sínithe: is féidir le custaiméirí an méid a athrú.
make-link = Cruthaigh an nasc
payment-link = Nasc íocaíochta

## Desk: log

log = Loga
operator = Oibreoir
acquirer = Fálaitheoir
automatically = Go huathoibríoch
fraud-reported = Amhras calaoise
acquirer-refused = Diúltaithe ag an bhfálaitheoir
merchant-released = Níl sé ar fionraí a thuilleadh
bank-changed = Athraíodh an cuntas bainc
invited-again = Tugtha cuireadh arís
invitation-accepted = Glacadh leis an gcuireadh
member-removed = Baineadh ball
app-added = Cuireadh aip leis
app-removed = Baineadh aip
key-removed = Baineadh eochair API
webhook-created = Cruthaíodh webhook
webhook-changed = Athraíodh webhook
webhook-removed = Baineadh webhook
