### Slovenian

## Every page

payment-to-shop = Plačilo prejemniku { $shop }
test-payment = To je preizkus: nič ne bo zaračunano.
contact = Vprašanja o naročilu
terms = Splošni pogoji
privacy = Pravilnik o zasebnosti
accessibility = Dostopnost

## Amount form

amount = Znesek
amount-error =
    { $decimals ->
        [0] Vnesite znesek s številkami, brez decimalnih mest.
        [one] Vnesite znesek s številkami, z največ { $decimals } decimalnim mestom.
        [two] Vnesite znesek s številkami, z največ { $decimals } decimalnima mestoma.
       *[other] Vnesite znesek s številkami, z največ { $decimals } decimalnimi mesti.
    }
currency = Valuta
currency-error = Vnesite tričrkovno kodo valute, na primer EUR.
currency-unknown = Plačilo v tej valuti ni mogoče. Vnesite drugo kodo, na primer EUR.
proceed = Naprej

## Card form

card-details = Podatki o kartici
form-error = Popravite označena polja.
card-number = Številka kartice
card-number-error = Vnesite številko kartice, od 12 do 19 števk.
card-number-typo = Preverite številko kartice: ena števka je napačna.
accepted-cards = Sprejete kartice
expiry-date = Velja do
expiry-date-malformed = Vnesite mesec in leto s kartice, na primer 08/29.
expiry-date-past = Veljavnost kartice je potekla. Preverite datum ali uporabite drugo kartico.
security-code = Varnostna koda
security-code-hint = 3 ali 4 števke na kartici
security-code-error = Vnesite 3 ali 4 števke varnostne kode.
security-code-back = Vnesite 3 števke na hrbtni strani kartice.
security-code-front = Vnesite 4 števke na sprednji strani kartice.
needs-script = Za plačilo tukaj vklopite JavaScript in znova naložite stran.
card-saved = Vaša kartica bo shranjena za prihodnja plačila tej trgovini.
receipt-email = E-pošta za potrdilo (neobvezno)
pay = Plačaj { $amount }

## Payment in progress

processing = Vaše plačilo se obdeluje
processing-hint = Ta stran se osvežuje samodejno. Ne plačujte znova.
check-again = Preveri znova
confirm-payment = Potrdite plačilo
simulated-bank = Simulacija banke za preizkuse
confirm-card = Vaša banka sprašuje: ali opravljate to plačilo s kartico, katere zadnje števke so { $last4 }?
confirm = Potrdi
cancel = Prekliči

## Result

payment-successful = Plačilo je uspelo
payment-successful-hint = To stran lahko zaprete.
transaction = Transakcija
shop = Trgovec
date = Datum
card = Kartica
reference = Sklic
receipt = Potrdilo o plačilu
payment-failed = Plačilo ni uspelo
declined-details = Banka ni sprejela podatkov kartice. Preverite jih in poskusite znova.
declined-expired = Veljavnost kartice je potekla. Poskusite z drugo.
declined-funds = Na računu ni dovolj sredstev ali pa je presežen limit kartice. Poskusite z drugo kartico.
declined-bank = Banka je plačilo zavrnila. Poskusite z drugo kartico ali se obrnite na svojo banko.
declined-again = Prišlo je do napake, vendar nič ni bilo zaračunano. Poskusite znova.
declined-unsupported = Ta kartica ni podprta. Poskusite z drugo.
declined-unconfirmed = Plačilo pri vaši banki ni bilo potrjeno.
declined-shop = Trgovina tega plačila ne more sprejeti. Obrnite se na trgovino.
try-again = Poskusi znova
back-to-shop = Nazaj v trgovino

## Problems

link-broken = Ta plačilna povezava ne deluje
link-broken-hint = Prosite trgovino za novo.
link-used = Ta povezava je že bila uporabljena
link-expired = Ta plačilna povezava je potekla
form-expired = Ta stran je prestara
form-expired-hint = Niste bili bremenjeni in nič od vnesenega ni bilo shranjeno.
unavailable = Plačilo trenutno ni mogoče
unavailable-hint = Poskusite znova čez nekaj minut. Znesek ne bo zaračunan dvakrat.
too-many-attempts = Preveč poskusov
too-many-attempts-hint = Počakajte nekaj minut in poskusite znova. Nič ni bilo zaračunano.

## Invitation e-mail

invitation-subject = Vabilo: { $merchant }
invitation-greeting = Pozdravljeni,
invitation-by-app = aplikacija { $app } vas vabi k sodelovanju pri upravljanju plačil trgovca { $merchant }.
invitation = vabimo vas k sodelovanju pri upravljanju plačil trgovca { $merchant }.
invitation-more = Več vam lahko pove oseba, ki vas je povabila.
invitation-unexpected = Če tega sporočila niste pričakovali, ga lahko prezrete.

## Mails of the desk

invitation-link = Odprite to stran v 72 urah, da sprejmete vabilo in se prijavite:
sign-in-subject = Vaša povezava za prijavo
sign-in-mail = odprite to stran v 15 minutah v brskalniku, v katerem ste zahtevali povezavo:
sign-in-unexpected = Če te povezave niste zahtevali, lahko to sporočilo prezrete. Brez povezave se nihče ne more prijaviti.
receipt-mail = plačali ste { $amount } trgovini { $merchant }. Ta povezava 18 mesecev prikazuje potrdilo in poznejša vračila:
dispute-subject = Ugovor zoper plačilo trgovini { $merchant }
dispute-mail = Kupec ugovarja { $amount } plačila trgovini { $merchant }. Odgovoriti je mogoče do { $day }.
payout-subject = Izplačilo za { $merchant }
payout-mail = { $amount } je na poti na bančni račun trgovine { $merchant }.
return-subject = Izplačilo za { $merchant } se je vrnilo
return-mail = Banka je vrnila { $amount }, izplačanih trgovini { $merchant }. Nadaljnja izplačila čakajo, dokler bančni račun ni pravilen.
webhook-subject = Webhook trgovine { $merchant } je izklopljen
webhook-mail = Webhook aplikacije trgovine { $merchant } je izklopljen, ker njegove dostave niso uspele. Aplikacija ne izve več za plačila.
more-at-desk = Več najdete v upravljanju, kjer tudi izberete, katera sporočila dobivate:

## Desk: sign in

sign-in = Prijava
email-address = E-poštni naslov
email-address-hint = Poslali vam bomo povezavo za prijavo.
email-address-error = Vnesite svoj e-poštni naslov, na primer ann@shop.example.
send-link = Pošlji povezavo
check-mail = Preverite e-pošto
check-mail-hint = Če naslov { $email } pripada uporabniku, smo poslali povezavo. Odprite jo v tem brskalniku v 15 minutah.
sign-in-as = Prijavljate se kot { $email }.
sign-in-broken = Ta povezava ne deluje
sign-in-broken-hint = Bila je že uporabljena, je prestara ali pripada drugemu brskalniku.
new-link = Zahtevaj novo povezavo
wait-hint = Počakajte nekaj minut in poskusite znova.
desk-unavailable = Ta stran trenutno ni na voljo

## Desk: every page

merchants = Trgovci
test-mark = Preizkus
sign-out = Odjava
foreign-form = Ta obrazec je poslalo drugo spletno mesto
foreign-form-hint = Nič ni bilo izvedeno. Vrnite se nazaj in znova pošljite obrazec.
not-found = Ta stran ne obstaja
merchant-held = Zadržano: { $reason }
not-approved = Ta trgovina ne sprejema plačil, dokler je upravljavec ne odobri

## Desk: payments

payments = Plačila
search = Išči
more-filters = Več filtrov
last-four = Zadnje štiri števke kartice
last-four-error = Vnesite štiri števke.
from-day = Od
to-day = Do
day-error = Vnesite datum, na primer 2026-11-28.
state = Stanje
all-states = Vsa stanja
nothing-found = Ni najdenih plačil.
download-csv = Prenesi CSV
older-payments = Starejša plačila
newest-payments = Najnovejša plačila
all-merchants = Vsi trgovci
balance = Saldo
authorized = Avtorizirano
captured = Zaračunano
partly-captured = Delno zaračunano
refunded = Vrnjeno
partly-refunded = Delno vrnjeno
voided = Preklicano
disputed = Sporno
failed = Neuspelo
dispute-won = Spor dobljen
dispute-lost = Spor izgubljen
evidence-submitted = Dokazi oddani
dispute-accepted = Izguba sprejeta
history = Zgodovina
fees = Provizije

## Desk: capture, refund and release

capture = Bremeni
refund = Vrni
release = Sprosti
at-most = Največ { $amount }
available = Na voljo
left-afterwards = Nato ostane
changed-meanwhile = Plačilo se je medtem spremenilo. Preverite znesek.
movement-refused = To ni več mogoče ali ne s tem zneskom.

## Desk: mails

mails = E-sporočila
mails-hint = Katera e-sporočila o tej trgovini želite?
mail-dispute = Kupec ugovarja plačilu
mail-payout = Stanje se izplača
mail-return = Izplačilo se je vrnilo
mail-webhook = Webhook je izklopljen
save = Shrani
saved = Shranjeno

## Desk: account

account = Račun
authenticator = Aplikacija za preverjanje pristnosti
authenticator-works = Vaša aplikacija za preverjanje pristnosti je nastavljena.
authenticator-missing = Preden premaknete denar ali spremenite ključe, potrebujete kodo iz aplikacije za preverjanje pristnosti v telefonu ali računalniku.
set-up-authenticator = Nastavi aplikacijo za preverjanje pristnosti
remove-authenticator = Odstrani aplikacijo za preverjanje pristnosti
scan-code = Optično preberite to kodo z aplikacijo.
qr-code = Koda QR
type-secret = Ali pa v aplikacijo vnesite ta ključ:
enter-code = Vnesite kodo
code = Koda
code-hint = Šest števk iz aplikacije za preverjanje pristnosti ali obnovitvena koda.
first-code-hint = Šest števk, ki jih prikazuje aplikacija.
code-error = Ta koda ne deluje. Vnesite naslednjo.
code-locked = Preveč napačnih kod. Počakajte 15 minut in poskusite znova.
recovery-codes = Obnovitvene kode
recovery-codes-hint = Če izgubite aplikacijo, vnesite eno od teh kod. Vsaka deluje enkrat. Takoj jih shranite na varno mesto: ta stran jih ne bo več prikazala.
recovery-codes-left = Preostale obnovitvene kode: { $count }
new-recovery-codes = Ustvari nove obnovitvene kode
sessions = Kje ste prijavljeni
session-began = Prijava: { $time }
session-used = Zadnja uporaba: { $time }
this-session = Ta brskalnik
end-sessions = Odjava v vseh drugih brskalnikih

## Desk: balance and disputes

payouts = Izplačila
all-payouts = Vsa izplačila
payout = Izplačilo
payout-returned = Vrnjeno izplačilo
paid-out = Izplačano
month = Mesec
next-page = Naslednja stran
first-page = Prva stran
nothing-yet = Še nič
disputes = Spori
open-disputes = Odprti spori
decided-disputes = Rešeni spori
days-left = Preostalo dni: { $days }
inquiry = Poizvedba
evidence = Dokazi
evidence-text = Vaša razlaga
evidence-files = Datoteke
evidence-hint = Največ 5 datotek PDF, PNG ali JPEG, skupaj 4,5 MB, in 20.000 znakov. Nove datoteke nadomestijo shranjene.
submit-evidence = Oddaj dokaze
submit-evidence-hint = Oddate lahko samo enkrat. Nato odloči banka kupca.
accept-dispute = Sprejmi izgubo
accept-dispute-hint = Kupec obdrži denar. Tega ni mogoče razveljaviti.

## Desk: overview

overview = Pregled
next-payout = Čaka na naslednje izplačilo
payouts-held = Izplačila so zadržana
refused-captures = Zavrnil prejemnik kartic, zadnjih 30 dni
disabled-webhooks = Onemogočeni webhooki
last-days = Zaračunano minus vračila, zadnjih 30 dni
days-in-utc = Dnevi so v UTC
as-table = Kot tabela
day = Dan

## Desk: people

people = Osebe
member-since = Član od { $time }
invited = Povabljen
invited-until = Povabljen: povezava deluje do { $time }
invitation-expired = Vabilo je poteklo
invite = Povabi
invite-hint = Oseba po e-pošti dobi povezavo, ki deluje 72 ur, in lahko nato tukaj počne vse.
invite-again = Povabi znova
remove = Odstranim { $name }?
remove-hint = Dostop do te trgovine se takoj konča.
remove-yourself = Odstranite sebe?
remove-button = Odstrani
last-member = Zadnjega člana ni mogoče odstraniti. Najprej nekoga povabite.
apps = Aplikacije

## Desk: developers

developers = Razvijalci
foreign-app = Ta aplikacija deluje tudi za trgovine, katerih član niste, zato njenih ključev in webhookov ne morete upravljati.
api-keys = Ključi API
created-on = Ustvarjen { $time }
last-used = Nazadnje uporabljen { $time }
never-used = Nikoli uporabljen
key-name = Ime ključa
create-key = Ustvari ključ
key-created = Ključ API je ustvarjen
too-many-keys = Ta aplikacija ima 20 ključev, kar je največ. Najprej enega odstranite.
last-key = Zadnjega ključa ni mogoče odstraniti. Najprej ustvarite drugega.
remove-key-hint = Programi, ki uporabljajo ta ključ, so takoj zavrnjeni.
secret-once = Prikazan je samo tokrat. Kopirajte ga na varno mesto.
secret-shown = Prikazan je bil enkrat in ga ni mogoče prikazati znova.
webhooks = Webhooki
create-webhook = Ustvari webhook
webhook-url = Naslov (URL)
webhook-url-error = Vnesite naslov, ki se začne s https:// in je dosegljiv z interneta.
event-types = Dogodki
event-types-hint = Brez izbire se pošiljajo vsi dogodki.
too-many-webhooks = Ta aplikacija ima 20 webhookov, kar je največ. Najprej enega odstranite.
enabled = Vklopljen
disabled = Izklopljen
disabled-failures = Izklopljen, ker dostave pet dni niso uspele
disabled-gone = Izklopljen, ker prejemnik ne želi več dogodkov
send-test = Pošlji preizkus
new-secret = Nova skrivnost
send-again = Znova pošlji dogodke
new-secret-hint = 24 ur podpisuje tudi stara skrivnost.
send-again-hint = Vsi dogodki od začetka tega dne se pošljejo znova.
remove-webhook-hint = Na ta naslov se ne pošilja ničesar več.
deliveries = Dostave
delivered = Dostavljeno
next-attempt = Naslednji poskus { $time }

## Desk: payment links

payment-links = Plačilne povezave
link-text = Besedilo za stranko
link-text-error = Uporabite manj znakov, in samo črke, števke in ločila.
link-once = Plačati je mogoče samo enkrat
link-language = Jezik strani
link-language-browser = Kot v brskalniku stranke
link-unsigned = Ta trgovina nima ključa za povezave, zato povezave niso podpisane: stranke lahko spremenijo znesek.
make-link = Ustvari povezavo
payment-link = Plačilna povezava

## Desk: log

log = Dnevnik
operator = Upravljavec
acquirer = Pridobitelj
automatically = Samodejno
fraud-reported = Sum goljufije
acquirer-refused = Zavrnil pridobitelj
merchant-released = Ni več zadržano
bank-changed = Bančni račun spremenjen
invited-again = Znova povabljen
invitation-accepted = Vabilo sprejeto
member-removed = Član odstranjen
app-added = Aplikacija dodana
app-removed = Aplikacija odstranjena
key-removed = Ključ API odstranjen
webhook-created = Webhook ustvarjen
webhook-changed = Webhook spremenjen
webhook-removed = Webhook odstranjen
