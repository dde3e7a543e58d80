### Maltese

## Every page

payment-to-shop = Ħlas lil { $shop }
test-payment = Dan huwa test: mhux se jittieħdu flus.
contact = Mistoqsijiet dwar l-ordni tiegħek
terms = Termini u kundizzjonijiet
privacy = Politika tal-privatezza
accessibility = Aċċessibbiltà

## Amount form

amount = Ammont
amount-error =
    { $decimals ->
        [0] Daħħal l-ammont b’ċifri, mingħajr postijiet deċimali.
        [one] Daħħal l-ammont b’ċifri, b’mhux aktar minn post deċimali wieħed.
       *[other] Daħħal l-ammont b’ċifri, b’mhux aktar minn { $decimals } postijiet deċimali.
    }
currency = Munita
currency-error = Daħħal kodiċi tal-munita ta’ tliet ittri, bħal EUR.
currency-unknown = Ma tistax tħallas f’din il-munita. Daħħal kodiċi ieħor, bħal EUR.
proceed = Kompli

## Card form

card-details = Dettalji tal-kard
form-error = Jekk jogħġbok ikkoreġi l-oqsma mmarkati.
card-number = Numru tal-karta
card-number-error = Daħħal in-numru tal-karta, 12 sa 19-il ċifra.
card-number-typo = Iċċekkja n-numru tal-kard: hemm ċifra ħażina.
accepted-cards = Kards aċċettati
expiry-date = Data ta’ skadenza
expiry-date-malformed = Daħħal ix-xahar u s-sena li hemm fuq il-karta, bħal 08/29.
expiry-date-past = Il-karta skadiet. Iċċekkja d-data jew uża karta oħra.
security-code = Kodiċi tas-sigurtà
security-code-hint = 3 jew 4 ċifri fuq il-karta
security-code-error = Daħħal it-3 jew l-4 ċifri tal-kodiċi tas-sigurtà.
security-code-back = Daħħal it-3 ċifri fuq wara tal-kard.
security-code-front = Daħħal l-4 ċifri fuq quddiem tal-kard.
needs-script = Biex tħallas hawn, ixgħel JavaScript u erġa’ ġib il-paġna.
card-saved = Il-karta tiegħek se tinħażen għal ħlasijiet futuri lil dan il-ħanut.
receipt-email = Email għar-riċevuta tiegħek (mhux obbligatorju)
pay = Ħallas { $amount }

## Payment in progress

processing = Il-ħlas tiegħek qed jiġi pproċessat
processing-hint = Din il-paġna taġġorna ruħha awtomatikament. Jekk jogħġbok terġax tħallas.
check-again = Erġa’ ċċekkja
confirm-payment = Ikkonferma l-ħlas
simulated-bank = Simulazzjoni ta’ bank għat-testijiet
confirm-card = Il-bank tiegħek jistaqsi: int qed tagħmel dan il-ħlas bil-karta li tispiċċa b’{ $last4 }?
confirm = Ikkonferma
cancel = Ikkanċella

## Result

payment-successful = Il-ħlas irnexxa
payment-successful-hint = Tista’ tagħlaq din il-paġna.
transaction = Tranżazzjoni
shop = Ħanut
date = Data
card = Kard
reference = Referenza
receipt = Riċevuta
payment-failed = Il-ħlas ma rnexxiex
declined-details = Il-bank ma aċċettax id-dettalji tal-karta. Iċċekkjahom u erġa’ pprova.
declined-expired = Il-karta skadiet. Ipprova waħda oħra.
declined-funds = M’hemmx biżżejjed flus fil-kont, jew inqabeż il-limitu tal-karta. Ipprova karta oħra.
declined-bank = Il-bank irrifjuta l-ħlas. Ipprova karta oħra, jew ikkuntattja lill-bank tiegħek.
declined-again = Inqala’ żball, iżda ma ttieħdux flus. Jekk jogħġbok erġa’ pprova.
declined-unsupported = Din il-karta mhix aċċettata. Ipprova waħda oħra.
declined-unconfirmed = Il-ħlas ma ġiex ikkonfermat mal-bank tiegħek.
declined-shop = Il-ħanut ma jistax jaċċetta dan il-ħlas. Jekk jogħġbok ikkuntattja lill-ħanut.
try-again = Erġa’ pprova
back-to-shop = Lura għall-ħanut

## Problems

link-broken = Din il-ħolqa tal-ħlas ma taħdimx
link-broken-hint = Itlob waħda ġdida lill-ħanut.
link-used = Din il-ħolqa diġà ntużat
link-expired = Din il-ħolqa tal-ħlas skadiet
form-expired = Din il-paġna hija antika wisq
form-expired-hint = Ma tħallastx u ma nżamm xejn minn dak li daħħalt.
unavailable = Bħalissa mhux possibbli tħallas
unavailable-hint = Erġa’ pprova wara ftit minuti. Il-flus mhux se jittieħdu darbtejn.
too-many-attempts = Wisq tentattivi
too-many-attempts-hint = Stenna ftit minuti, imbagħad erġa’ pprova. Ma ttieħdux flus.

## Invitation e-mail

invitation-subject = Stedina: { $merchant }
invitation-greeting = Bonġu,
invitation-by-app = { $app } stiednek biex tgħin fil-ġestjoni tal-pagamenti ta’ { $merchant }.
invitation = Irċevejt stedina biex tgħin fil-ġestjoni tal-pagamenti ta’ { $merchant }.
invitation-more = Min stiednek jista’ jgħidlek aktar.
invitation-unexpected = Jekk ma kontx qed tistenna dan il-messaġġ, tista’ tinjorah.

## Mails of the desk

invitation-link = Iftaħ din il-paġna fi żmien 72 siegħa biex taċċetta l-istedina u tidħol:
sign-in-subject = Il-ħolqa tiegħek biex tidħol
sign-in-mail = Iftaħ din il-paġna fi żmien 15-il minuta, fil-browser li minnu tlabt il-ħolqa:
sign-in-unexpected = Jekk ma tlabtx din il-ħolqa, tista’ tinjora dan il-messaġġ. Ħadd ma jista’ jidħol mingħajr il-ħolqa.
receipt-mail = Int ħallast { $amount } lil { $merchant }. Din il-ħolqa turi r-riċevuta u r-rimborżi ta’ wara għal 18-il xahar:
dispute-subject = Tilwima dwar ħlas ta’ { $merchant }
dispute-mail = Klijent qed jikkontesta { $amount } ta’ ħlas ta’ { $merchant }. Tista’ twieġeb sal-{ $day }.
payout-subject = Ħlas ’il barra lil { $merchant }
payout-mail = { $amount } deħlin fil-kont bankarju ta’ { $merchant }.
return-subject = Ħlas ’il barra lil { $merchant } reġa’ lura
return-mail = Il-bank bagħat lura { $amount } li tħallsu lil { $merchant }. Ħlasijiet oħra jistennew sakemm il-kont bankarju jkun tajjeb.
webhook-subject = Webhook ta’ { $merchant } huwa diżattivat
webhook-mail = Webhook ta’ app ta’ { $merchant } huwa diżattivat, għax il-kunsinni tiegħu fallew. L-app m’għadhiex tisma’ bil-ħlasijiet.
more-at-desk = Issib aktar fl-amministrazzjoni, fejn tagħżel ukoll liema messaġġi tirċievi:

## Desk: sign in

sign-in = Idħol
email-address = Indirizz tal-email
email-address-hint = Nibagħtulek ħolqa biex tidħol.
email-address-error = Daħħal l-indirizz tal-email tiegħek, bħal ann@shop.example.
send-link = Ibgħat il-ħolqa
check-mail = Iċċekkja l-email tiegħek
check-mail-hint = Jekk l-indirizz { $email } huwa ta’ utent, bgħatna ħolqa. Iftaħha f’dan il-browser fi żmien 15-il minuta.
sign-in-as = Qed tidħol bħala { $email }.
sign-in-broken = Din il-ħolqa ma taħdimx
sign-in-broken-hint = Diġà ntużat, hija antika wisq, jew hija ta’ browser ieħor.
new-link = Itlob ħolqa ġdida
wait-hint = Stenna ftit minuti, imbagħad erġa’ pprova.
desk-unavailable = Bħalissa din il-paġna mhix disponibbli

## Desk: every page

merchants = Ħwienet
test-mark = Test
sign-out = Oħroġ
foreign-form = Din il-formola ntbagħtet minn sit web ieħor
foreign-form-hint = Ma sar xejn. Mur lura u erġa’ ibgħat il-formola.
not-found = Din il-paġna ma teżistix
merchant-held = Sospiż: { $reason }
not-approved = Dan il-ħanut ma jaċċettax ħlasijiet qabel ma l-operatur japprovah

## Desk: payments

payments = Ħlasijiet
search = Fittex
more-filters = Aktar filtri
last-four = L-aħħar erba’ ċifri tal-karta
last-four-error = Daħħal erba’ ċifri.
from-day = Minn
to-day = Sa
day-error = Daħħal data, bħal 2026-11-28.
state = Stat
all-states = L-istati kollha
nothing-found = Ma nstab l-ebda ħlas.
download-csv = Niżżel is-CSV
older-payments = Ħlasijiet eqdem
newest-payments = L-aktar ħlasijiet riċenti
all-merchants = Il-ħwienet kollha
balance = Bilanċ
authorized = Awtorizzat
captured = Miġbur
partly-captured = Miġbur parzjalment
refunded = Rimborżat
partly-refunded = Rimborżat parzjalment
voided = Annullat
disputed = Ikkontestat
failed = Ma rnexxiex
dispute-won = Tilwima mirbuħa
dispute-lost = Tilwima mitlufa
evidence-submitted = Provi sottomessi
dispute-accepted = Telf aċċettat
history = Storja
fees = Tariffi

## Desk: capture, refund and release

capture = Iġbor
refund = Irrifondi
release = Illibera
at-most = L-iktar { $amount }
available = Disponibbli
left-afterwards = Jibqa’ wara
changed-meanwhile = Il-ħlas inbidel sadanittant. Iċċekkja l-ammont.
movement-refused = Dan m’għadux possibbli, jew mhux b’dan l-ammont.

## Desk: mails

mails = Emails
mails-hint = Liema emails dwar dan il-ħanut trid?
mail-dispute = Klijent jikkontesta ħlas
mail-payout = Il-bilanċ jitħallas
mail-return = Ħlas ’il barra reġa’ lura
mail-webhook = Webhook huwa diżattivat
save = Issejvja
saved = Issejvjat

## Desk: account

account = Kont
authenticator = App tal-awtentikazzjoni
authenticator-works = L-app tal-awtentikazzjoni tiegħek hija ssettjata.
authenticator-missing = Qabel ma tmexxi l-flus jew tbiddel iċ-ċwievet, għandek bżonn kodiċi minn app tal-awtentikazzjoni fuq it-telefon jew il-kompjuter tiegħek.
set-up-authenticator = Issettja app tal-awtentikazzjoni
remove-authenticator = Neħħi l-app tal-awtentikazzjoni
scan-code = Skennja dan il-kodiċi bl-app.
qr-code = Kodiċi QR
type-secret = Jew daħħal din iċ-ċavetta fl-app:
enter-code = Daħħal il-kodiċi tiegħek
code = Kodiċi
code-hint = Sitt ċifri mill-app tal-awtentikazzjoni tiegħek, jew kodiċi tal-irkupru.
first-code-hint = Is-sitt ċifri li turi l-app.
code-error = Dan il-kodiċi ma jaħdimx. Daħħal li jmiss.
code-locked = Wisq kodiċijiet ħżiena. Stenna 15-il minuta, imbagħad erġa’ pprova.
recovery-codes = Kodiċijiet tal-irkupru
recovery-codes-hint = Jekk titlef l-app, daħħal wieħed minn dawn il-kodiċijiet. Kull wieħed jaħdem darba. Żommhom f’post sigur issa: din il-paġna mhux se terġa’ turihom.
recovery-codes-left = Kodiċijiet tal-irkupru li fadal: { $count }
new-recovery-codes = Agħmel kodiċijiet tal-irkupru ġodda
sessions = Fejn int imdaħħal
session-began = Dħul: { $time }
session-used = L-aħħar użu: { $time }
this-session = Dan il-browser
end-sessions = Oħroġ mill-browsers l-oħra kollha

## Desk: balance and disputes

payouts = Żborżi
all-payouts = Iż-żborżi kollha
payout = Żborż
payout-returned = Żborż irritornat
paid-out = Imħallas
month = Xahar
next-page = Il-paġna li jmiss
first-page = L-ewwel paġna
nothing-yet = Għadu m’hemm xejn
disputes = Tilwimiet
open-disputes = Tilwimiet miftuħa
decided-disputes = Tilwimiet deċiżi
days-left = Jiem li fadal: { $days }
inquiry = Mistoqsija
evidence = Provi
evidence-text = L-ispjegazzjoni tiegħek
evidence-files = Fajls
evidence-hint = L-iktar 5 fajls PDF, PNG jew JPEG, 4.5 MB b’kollox, u 20,000 karattru. Il-fajls ġodda jieħdu post dawk issejvjati.
submit-evidence = Issottometti l-provi
submit-evidence-hint = Tista’ tissottometti darba biss. Imbagħad jiddeċiedi l-bank tal-klijent.
accept-dispute = Aċċetta t-telf
accept-dispute-hint = Il-klijent iżomm il-flus. Dan ma jistax jitreġġa’ lura.

## Desk: overview

overview = Ħarsa ġenerali
next-payout = Jistenna ż-żborż li jmiss
payouts-held = Iż-żborżi huma sospiżi
refused-captures = Irrifjutat mill-akkwirent, l-aħħar 30 jum
disabled-webhooks = Webhooks diżattivati
last-days = Miġbur nieqes rifuż, l-aħħar 30 jum
days-in-utc = Il-jiem huma f’UTC
as-table = Bħala tabella
day = Jum

## Desk: people

people = Nies
member-since = Membru minn { $time }
invited = Mistieden
invited-until = Mistieden: il-ħolqa taħdem sa { $time }
invitation-expired = L-istedina skadiet
invite = Stieden
invite-hint = Il-persuna tirċievi ħolqa bl-email li taħdem għal 72 siegħa, u mbagħad tista’ tagħmel kollox hawn.
invite-again = Erġa’ stieden
remove = Tneħħi lil { $name }?
remove-hint = L-aċċess għal dan il-ħanut jintemm minnufih.
remove-yourself = Tneħħi lilek innifsek?
remove-button = Neħħi
last-member = L-aħħar membru ma jistax jitneħħa. L-ewwel stieden lil xi ħadd.
apps = Applikazzjonijiet

## Desk: developers

developers = Żviluppaturi
foreign-app = Din l-applikazzjoni taħdem ukoll għal ħwienet li inti m’intix membru tagħhom, u għalhekk ma tistax timmaniġġja ċ-ċwievet u l-webhooks tagħha.
api-keys = Ċwievet tal-API
created-on = Maħluqa { $time }
last-used = Użata l-aħħar { $time }
never-used = Qatt ma ntużat
key-name = Isem iċ-ċavetta
create-key = Oħloq ċavetta
key-created = Inħolqot ċavetta tal-API
too-many-keys = Din l-applikazzjoni għandha 20 ċavetta, li huwa l-massimu. L-ewwel neħħi waħda.
last-key = L-aħħar ċavetta ma tistax titneħħa. L-ewwel oħloq oħra.
remove-key-hint = Il-programmi li jużaw din iċ-ċavetta jiġu rrifjutati minnufih.
secret-once = Jidher din id-darba biss. Ikkopjah f’post sigur.
secret-shown = Intwera darba u ma jistax jerġa’ jintwera.
webhooks = Webhooks
create-webhook = Oħloq webhook
webhook-url = Indirizz (URL)
webhook-url-error = Daħħal indirizz li jibda b’https:// u li jista’ jintlaħaq mill-internet.
event-types = Avvenimenti
event-types-hint = Mingħajr għażla, jintbagħtu l-avvenimenti kollha.
too-many-webhooks = Din l-applikazzjoni għandha 20 webhook, li huwa l-massimu. L-ewwel neħħi wieħed.
enabled = Attivat
disabled = Diżattivat
disabled-failures = Diżattivat, għax il-konsenji fallew għal ħamest ijiem
disabled-gone = Diżattivat, għax ir-riċevitur ma jridx aktar avvenimenti
send-test = Ibgħat test
new-secret = Sigriet ġdid
send-again = Erġa’ ibgħat avvenimenti
new-secret-hint = Għal 24 siegħa, is-sigriet il-qadim jiffirma wkoll.
send-again-hint = L-avvenimenti kollha mill-bidu ta’ dan il-jum jerġgħu jintbagħtu.
remove-webhook-hint = Ma jintbagħat xejn aktar lil dan l-indirizz.
deliveries = Konsenji
delivered = Ikkonsenjat
next-attempt = L-attentat li jmiss { $time }

## Desk: payment links

payment-links = Ħoloq tal-ħlas
link-text = Test għall-klijent
link-text-error = Uża inqas karattri, u ittri, ċifri u sinjali tal-punteġġjatura biss.
link-once = Jista’ jitħallas darba biss
link-language = Lingwa tal-paġna
link-language-browser = Bħal fil-browser tal-klijent
link-unsigned = Dan il-ħanut m’għandux ċavetta għall-ħoloq, u għalhekk il-ħoloq mhumiex iffirmati: il-klijenti jistgħu jibdlu l-ammont.
make-link = Oħloq il-ħolqa
payment-link = Ħolqa tal-ħlas

## Desk: log

log = Reġistru
operator = Operatur
acquirer = Akkwirent
automatically = Awtomatikament
fraud-reported = Suspett ta’ frodi
acquirer-refused = Irrifjutat mill-akkwirent
merchant-released = M’għadux sospiż
bank-changed = Il-kont tal-bank inbidel
invited-again = Mistieden mill-ġdid
invitation-accepted = L-istedina ġiet aċċettata
member-removed = Membru tneħħa
app-added = Applikazzjoni miżjuda
app-removed = Applikazzjoni mneħħija
key-removed = Ċavetta tal-API mneħħija
webhook-created = Webhook maħluq
webhook-changed = Webhook mibdul
webhook-removed = Webhook imneħħi
